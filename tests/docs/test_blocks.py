"""How pages are read: a block that is missed, or output that fits anything, would be a page that nobody tries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import blocks, indented, pattern

PAGE = """
Text.

```sh
# Ctrl-C ends it.
hbus watch 'user:*:facts'
```

```output
watching ...
```

```python
# Not run by the tests: it takes a minute.
print(1)
```

    make hidden
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_blocks_are_found_with_what_they_print(page: Path) -> None:
    """In order; output belongs to the block above it, and a reason not to run is read."""
    watch, program = blocks(page)
    assert (watch.language, watch.line, watch.output, watch.goes_on) == ("sh", 4, "watching ...\n", True)
    assert (program.language, program.reason_not_to_run) == ("python", "it takes a minute.")


def test_a_command_without_a_fence_is_seen(page: Path) -> None:
    """Nothing hides behind its indentation."""
    assert indented(page) == ["make hidden"]


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        ("stored", "stored\n", True),
        ("stored", "not stored\n", False),
        ("stored", "stored: weaker\n", False),
        ("a ... c", "a b c\n", True),
        ("a\nc", "a\nb\nc\n", False),
        ("a\n...\nc", "a\nb\nb\nc\n", True),
        ("a\n...\nc", "a\nc\n", True),
        ("a.c", "abc\n", False),
        ("", "whatever\n", True),
    ],
)
def test_output_must_fit_line_by_line(shown: str, printed: str, fits: bool) -> None:
    """Three dots stand for the rest of a line or for any lines; everything else is literal."""
    assert (pattern(shown).search(printed) is not None) is fits
