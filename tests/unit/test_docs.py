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
