"""The code blocks of a page, and what is to be done with them.

``sh`` and ``python`` blocks are run, one after the other. An ``output`` block below one is what it prints, with ``...``
for what differs from run to run. A block that says Ctrl-C goes on beside those that follow it. One whose first line is
``# Not run by the tests: <reason>`` is not run, and its reader sees why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = ("sh", "python")
ALSO = ("json", "lua", "output", "proto", "text", "toml", "ts", "yaml")
"""Languages of blocks that are no commands."""

_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"# Not run by the tests: (\S.*)")
_INDENTED = re.compile(r"^\n {4}(?=\S)(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One block that says what to do."""

    language: str
    text: str
    line: int
    output: str = ""
    """What it prints, where the page shows that."""

    @property
    def reason_not_to_run(self) -> str:
        """Why it is not run; empty = it is."""
        found = _NOT_RUN.match(self.text)
        return found[1] if found else ""

    @property
    def needs_server(self) -> bool:
        """Tell whether it talks to a server that is there."""
        return any(word in self.text for word in ("hbus", "grpcurl", "make run"))

    @property
    def goes_on(self) -> bool:
        """Tell whether it runs until it is interrupted."""
        return "Ctrl-C" in self.text


def pages() -> list[Path]:
    """Return every page that may have blocks to run."""
    top = [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "clients/python/README.md"]
    return [page for page in [*top, *sorted((ROOT / "docs").rglob("*.md"))] if page.exists()]


def languages(page: Path) -> list[str]:
    """Return the languages of all its blocks."""
    return [found[1] for found in _FENCE.finditer(page.read_text())]


def indented(page: Path) -> list[str]:
    """Return what would be a code block by its indentation alone."""
    prose = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return _INDENTED.findall(prose)


def blocks(page: Path) -> list[Block]:
    """Return the blocks to run, in order."""
    text = page.read_text()
    made: list[Block] = []
    for found in _FENCE.finditer(text):
        language, body = found[1], found[2]
        if language == "output":
            last = made.pop()
            made.append(Block(last.language, last.text, last.line, body))
        elif language in RUN:
            made.append(Block(language, body, text.count("\n", 0, found.start()) + 1))
    return made


def pattern(output: str) -> re.Pattern[str]:
    """Return what output must hold: these lines in this order, ``...`` for anything within a line or as one."""
    lines = [re.escape(line.rstrip()).replace(r"\.\.\.", ".*") for line in output.strip().splitlines()]
    any_lines, empty_lines = r"(?:.*\n)*?", r"(?:[ \t]*\n)*"
    joined = "".join(
        any_lines if line.strip() == ".*" else rf"{empty_lines}^[ \t]*{line}[ \t]*(?:\n|\Z)" for line in lines
    )
    return re.compile(joined, re.MULTILINE)
