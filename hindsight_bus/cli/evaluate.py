"""``hbus eval``: how well a server finds what it should."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_bus.cli import output
from hindsight_bus.cli.link import DEFAULT_TARGET, ApiKey, Json, Target, dial, fail

if TYPE_CHECKING:
    import hbus
    from hindsight_bus.calibrating import Fitted
    from hindsight_bus.evaluation.dataset import DataSet
    from hindsight_bus.evaluation.report import Result

app = typer.Typer(no_args_is_help=True, help="Measure how well a server finds what it should.")
Files = Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Labelled data, JSON lines.")]


@app.command()
def run(
    files: Files,
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits to ask for at most.")] = 10,
    usage: Annotated[
        bool, typer.Option("--usage", help="Report the answers of the data as used, for the utilisation.")
    ] = False,
    misses: Annotated[
        bool,
        typer.Option(
            "--misses", help="List the questions that missed something, or brought what must not come."
        ),
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots to this file.")] = None,
    target: Target = DEFAULT_TARGET,
    agent: Annotated[str, typer.Option(help="The agent to load and ask as.")] = "eval",
    api_key: ApiKey = "",
    as_json: Json = False,
) -> None:
    """Load labelled memories into scratch namespaces, ask the questions, and print what came of it.

    Memories that the server has from an earlier run are not loaded again; --usage starts afresh, for use changes what
    is found. The format of the data stands in hindsight_bus/evaluation/dataset.py.
    """
    from hindsight_bus.evaluation import report

    results: list[Result] = []
    missed: list[tuple[str, ...]] = []
    for path in files:
        data = _read(path)
        with dial(target, agent, api_key) as bus:
            found = _results(bus, data, top_k, usage)
            missed += report.misses(found)
            results += report.together(data.name, found)
    if html is not None:
        html.write_text(report.page_of("Retrieval", results, [f"{target}, top_k {top_k}"]).html(), "utf-8")
    if as_json:
        for result in results:
            output.emit(result.as_json())
    else:
        output.table(report.COLUMNS, [result.row() for result in results])
        if misses:
            typer.echo()
            output.table(report.MISS_COLUMNS, missed)


def _read(path: Path) -> DataSet:
    from hindsight_bus.evaluation import dataset

    try:
        data = dataset.parse(path.stem, path.read_text("utf-8").splitlines())
    except ValueError as error:
        fail(f"{path}: {error}")
    if not data.queries:
        fail(f"{path}: holds no question")
    return data


def _results(bus: hbus.Client, data: DataSet, top_k: int, usage: bool) -> list[Result]:
    from hindsight_bus.evaluation import run

    try:
        loaded = run.load(bus, data, secrets.token_hex(8) if usage else "")
    except run.NotLoaded as error:
        fail(str(error))
    return run.grouped(loaded, run.ask(bus, loaded, top_k), bus if usage else None)


@app.command()
def calibrate(
    files: Files,
    embedder: Annotated[
        str, typer.Option(help="Embedding profile: e5, use or openai:<model> (HBUS_OPENAI_*).")
    ] = "e5",
    as_json: Json = False,
) -> None:
    """Fit what a cosine, a word and a date are worth in an embedding profile, and the floor of relevance.

    No server is needed. It prints the row of the table in hindsight_bus/domain/calibration.py, where weights stand with
    their profile. The more questions of each language and kind the data holds, the better they hold elsewhere.
    """
    import asyncio

    from hindsight_bus.calibrating import NothingToFit

    try:
        fitted = asyncio.run(_fitted(embedder, [_read(path) for path in files]))
    except NothingToFit as error:
        fail(str(error))
    if as_json:
        output.emit(fitted.as_json())
        return
    output.note(f"{fitted.answering} hits that answer, {fitted.silent} best ones that do not")
    typer.echo(fitted.row())


async def _fitted(embedder: str, sets: list[DataSet]) -> Fitted:
    from hindsight_bus import settings
    from hindsight_bus.adapters.embedding.profiles import Endpoint, open_embedder
    from hindsight_bus.calibrating import calibrate

    try:
        given = settings.load()
        endpoint = Endpoint(given.openai_base_url, given.openai_api_key.get_secret_value())
        model = open_embedder(embedder, endpoint)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    try:
        return await calibrate(model, sets)
    finally:
        await model.close()
