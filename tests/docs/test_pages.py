"""Everything that a page tells its reader to do is done, and does what the page says."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import hbus.aio
from tests.docs.blocks import ALSO, ROOT, RUN, blocks, indented, languages, pages
from tests.docs.stage import WITHIN_S, Stage
from tests.faults.processes import ServerProcess

PAGES = pages()
TRANSLATED = {ROOT / "README.zh-CN.md"}
"""Held to the blocks of what they translate by ``test_the_readme_says_the_same_in_chinese``."""
PLAYED = [
    page
    for page in PAGES
    if page not in TRANSLATED and any(not block.reason_not_to_run for block in blocks(page))
]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """No command hides in a block of another kind, or in one without a fence."""
    assert set(languages(page)) <= {*RUN, *ALSO}
    assert indented(page) == []


async def _warm_up(target: str) -> None:
    """Wait until the model is loaded, which a busy machine takes its time for; commands give up sooner."""
    async with hbus.aio.connect(target, agent="warm-up", timeout=WITHIN_S) as bus:
        written = await bus.write("task:warm-up:scratch", "Is the model there?", type="episodic")
        await bus.search("task:warm-up:scratch", "model", after=written.token, require_vectors=True)


@pytest.mark.e2e
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PLAYED, ids=_name)
async def test_what_a_page_says_works(page: Path) -> None:
    """On an empty store, from top to bottom."""
    played = [block for block in blocks(page) if not block.reason_not_to_run]
    with tempfile.TemporaryDirectory(prefix="hbus-") as place:
        server = ServerProcess(Path(place), embedder="use")
        if any(block.needs_server for block in played):
            await server.start()
            await _warm_up(server.target)
        stage = Stage(Path(place), server.target, server.data_dir)
        try:
            for block in played:
                await stage.play(block)
            await stage.finish()
        finally:
            await stage.close()
            await server.close()
