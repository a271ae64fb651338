"""Everything that a page tells its reader to do is done, and does what the page says."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.docs.blocks import ALSO, ROOT, RUN, blocks, indented, languages, pages
from tests.docs.stage import Stage
from tests.faults.processes import ServerProcess

PAGES = pages()
PLAYED = [page for page in PAGES if any(not block.reason_not_to_run for block in blocks(page))]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """No command hides in a block of another kind, or in one without a fence."""
    assert set(languages(page)) <= {*RUN, *ALSO}
    assert indented(page) == []


@pytest.mark.e2e
@pytest.mark.parametrize("page", PLAYED, ids=_name)
async def test_what_a_page_says_works(page: Path) -> None:
    """On an empty store, from top to bottom."""
    played = [block for block in blocks(page) if not block.reason_not_to_run]
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        server = ServerProcess(Path(place), embedder="use")
        if any(block.needs_server for block in played):
            await server.start()
        stage = Stage(Path(place), server.target)
        try:
            for block in played:
                await stage.play(block)
        finally:
            await stage.close()
            await server.close()
