"""The documents and the project agree."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path
    for path in [
        ROOT / "README.md",
        ROOT / "clients/README.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("clients/*/README.md"),
    ]
    if path.exists()
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    """Every relative link names a file or folder that exists."""
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_that_are_named_exist(document: Path) -> None:
    """A test that a document refers to by name is there to be run."""
    defined = {
        name
        for path in ROOT.glob("tests/**/*.py")
        for name in [path.stem, *re.findall(r"def (test_\w+)", path.read_text())]
    }
    named = set(re.findall(r"\b(test_\w+)\b", document.read_text()))
    assert named - defined == set()


def _shown(document: str) -> tuple[list[str], set[str], list[str]]:
    """Return what two languages must have in common: blocks without comments, links, and commands of the table."""
    text = (ROOT / document).read_text("utf-8")
    blocks = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code = [re.sub(r"^(.*?)\s*#.*$", r"\1", block, flags=re.MULTILINE) for block in blocks]
    links = set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh-CN.md"}
    rows = re.findall(r"^\| (`hbus .*?) \|", text, re.MULTILINE)
    return code, links, [command for row in rows for command in re.findall(r"`([^`]+)`", row)]


def test_the_readme_says_the_same_in_chinese() -> None:
    """A change of the one is a change of the other."""
    assert _shown("README.zh-CN.md") == _shown("README.md")


def test_the_index_leads_to_every_page() -> None:
    """What is written can be found: tutorials, how-tos, explanations and the pages of the reference."""
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/*/*.md")}
    linked = set(re.findall(r"\]\(([^)#]+)\)", (ROOT / "docs/README.md").read_text("utf-8")))
    wanted = {page for page in pages if not page.startswith("adr/")} - {"reference/README.md"}
    assert wanted - linked == set()
