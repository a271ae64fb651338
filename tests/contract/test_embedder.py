"""One suite for every embedder that computes vectors, and what each adds to it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_bus.adapters.embedding.chunks import CALL_BYTES, batches
from hindsight_bus.adapters.embedding.compatible import OpenAIEmbedder
from hindsight_bus.adapters.embedding.e5 import E5Embedder
from hindsight_bus.adapters.embedding.local import LocalEmbedder, check_file
from hindsight_bus.adapters.embedding.profiles import (
    CachedQueries,
    Endpoint,
    LoadedEmbedder,
    open_embedder,
)
from hindsight_bus.adapters.embedding.use import UseEmbedder
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.common import E5
from hindsight_bus.domain.errors import EmbedderUnavailable
from hindsight_bus.domain.pieces import parts, pieces
from hindsight_bus.ports import Embedder, Vectors

CONCEPTS = {
    "coffee": "咖啡", "beijing": "北京", "berlin": "berlin", "tencent": "腾讯", "google": "google", "friday": "friday",
    "monday": "周一", "french": "法语", "chinese": "中文",
}  # fmt: skip
DIMENSION = 16
LONG = "用户每天早上喝一杯咖啡。" * 60 + "The user walks to work. " * 60


def direction(text: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION)


def meaning(text: str) -> list[float]:
    """Stand-in for a model: texts that name one concept, in whichever language, lie near each other."""
    folded = text.lower()
    named = [direction(en) for en, zh in CONCEPTS.items() if en in folded or zh in folded]
    return list(0.1 * direction(text) + sum(named, np.zeros(DIMENSION)))


class FakeModel:
    """A model that knows the self-test by heart."""

    def passages(self, texts: list[str]) -> Vectors:
        return np.array([meaning(text) for text in texts], np.float32)

    def query(self, text: str) -> Vectors:
        return np.array(meaning(text), np.float32)


class EmbeddingServer:
    """An embeddings endpoint on loopback; ``answer`` may be replaced to misbehave."""

    def __init__(self) -> None:
        self.requests: list[dict[str, object]] = []
        self.answer: Callable[[list[str]], tuple[int, object]] = self.vectors
        self.url = ""

    @staticmethod
    def vectors(inputs: list[str]) -> tuple[int, object]:
        data = [
            {"object": "embedding", "index": i, "embedding": meaning(text)} for i, text in enumerate(inputs)
        ]
        return 200, {"object": "list", "model": "m", "data": data[::-1], "usage": {}}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.requests.append({"path": head.split()[1], "key": headers["authorization"], **body})
            status, answer = self.answer(body["input"])
            payload = json.dumps(answer).encode()
            location = "location: http://127.0.0.1:9/\r\n" if 300 <= status < 400 else ""
            start = (
                f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n{location}"
            )
            writer.write(f"{start}content-length: {len(payload)}\r\n\r\n".encode() + payload)
            await writer.drain()


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    fake = EmbeddingServer()
    listener = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    async with listener:
        yield fake


@pytest.fixture
async def remote(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(server.url, "m", "key", timeout=5.0)
    yield embedder
    await embedder.close()


@pytest.fixture(params=["fake", "e5", "use", "openai", "cached"])
async def embedder(request: pytest.FixtureRequest, remote: OpenAIEmbedder) -> AsyncIterator[Embedder]:
    made: LoadedEmbedder
    match request.param:
        case "e5":
            made = E5Embedder()
        case "use":
            made = UseEmbedder()
        case "openai":
            made = remote
        case "cached":
            made = CachedQueries(local(FakeModel))
        case _:
            made = local(FakeModel)
    yield made
    await made.close()


def local(load: Callable[[], FakeModel]) -> LocalEmbedder:
    return LocalEmbedder("fake", DIMENSION, load)


async def test_passages_are_unit_vectors(embedder: Embedder) -> None:
    """One float32 row of length 1 a text, in order, whatever the text is; the same text gives the same row."""
    texts = ["用户住在北京", "The user likes coffee", "", "用户住在北京", "a\x00b", "🙂"]
    vectors = await embedder.embed_passages(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), embedder.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-4)
    assert vectors[0] == pytest.approx(vectors[3], abs=1e-4)
    assert vectors[0] != pytest.approx(vectors[1], abs=1e-2)


async def test_a_query_is_a_unit_vector_near_its_answer(embedder: Embedder) -> None:
    """A query lies nearer to a passage that says the same than to another."""
    query = await embedder.embed_query("用户喜欢喝咖啡")
    near, far = await embedder.embed_passages(["用户爱喝咖啡", "服务器每晚两点备份"])
    assert query.dtype == np.float32
    assert query.shape == (embedder.dimension,)
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-4)
    assert query @ near > query @ far


@pytest.mark.parametrize(
    ("asked", "answer", "others"),
    [
        (
            "水管工什么时候来？",
            "The plumber comes on Tuesday morning.",
            ["用户对花粉过敏。", "车停在三号楼下面。", "他每周游泳两次。"],
        ),
        (
            "Where does his sister live?",
            "他的姐姐住在杭州。",
            ["His brother plays chess.", "Her father is a teacher.", "His sister-in-law bought a car."],
        ),
    ],
)
async def test_e5_finds_across_languages_without_what_all_texts_share(
    asked: str, answer: str, others: list[str]
) -> None:
    """As they are, all in the question's own language is nearer to it than its answer in the other one, or some is."""
    embedder = E5Embedder()
    try:
        query, told = await embedder.embed_query(asked), await embedder.embed_passages([answer, *others])
    finally:
        await embedder.close()
    assert np.argmax(told @ query) > 0
    assert np.argmax(E5.without(told) @ E5.without(query)) == 0


async def test_nothing_gives_nothing(embedder: Embedder) -> None:
    """No texts: an empty array, and no call that could fail."""
    assert (await embedder.embed_passages([])).shape[0] == 0


async def test_long_texts_are_pooled(embedder: Embedder) -> None:
    """A text of several pieces is one vector of length 1, as a passage and as a query."""
    assert len(parts(LONG)) > 1
    vectors = await embedder.embed_passages(["short", LONG])
    assert vectors.shape == (2, embedder.dimension)
    assert np.linalg.norm(vectors[1]) == pytest.approx(1.0, abs=1e-4)
    assert np.linalg.norm(await embedder.embed_query(LONG)) == pytest.approx(1.0, abs=1e-4)


async def test_long_texts_have_vectors_of_their_pieces(embedder: Embedder) -> None:
    """Each piece has the vector that it has as a text; a short text has its own alone; nothing gives nothing."""
    short, long = await embedder.embed_pieces(["short", LONG])
    alone = await embedder.embed_passages(["short", LONG, *pieces(LONG)])
    assert short.shape == (1, embedder.dimension)
    assert np.concatenate((short, long)) == pytest.approx(alone, abs=1e-3)
    assert long.dtype == np.float32
    assert await embedder.embed_pieces([]) == []


# --- local models ---------------------------------------------------------------------------------------------------


class DeafModel(FakeModel):
    """A model to which all texts but one are alike."""

    def passages(self, texts: list[str]) -> Vectors:
        return np.ones((len(texts), DIMENSION), np.float32)


class NotANumberModel(FakeModel):
    """A model that breaks after its self-test."""

    def query(self, text: str) -> Vectors:
        return np.full(DIMENSION, np.nan, np.float32)


async def test_a_model_that_fails_its_self_test_is_unavailable() -> None:
    """A model that cannot tell meanings apart serves nothing, and is not loaded again."""
    loads: list[int] = []

    def load() -> FakeModel:
        loads.append(1)
        return DeafModel()

    embedder = local(load)
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="self-test"):
            await embedder.embed_query("x")
    with pytest.raises(EmbedderUnavailable, match="self-test"):
        await embedder.warm_up()
    assert len(loads) == 1


@pytest.mark.parametrize(
    "error", [ImportError("no wheel"), ValueError("wrong file"), RuntimeError("no memory")]
)
async def test_a_model_that_cannot_be_loaded_is_unavailable(error: Exception) -> None:
    """Whatever goes wrong while loading is reported as the embedder being unavailable."""

    def load() -> FakeModel:
        raise error

    with pytest.raises(EmbedderUnavailable, match=str(error)):
        await local(load).warm_up()


async def test_vectors_that_are_not_numbers_never_leave() -> None:
    """NaN from a model is an error, not a vector."""
    with pytest.raises(EmbedderUnavailable, match="finite"):
        await local(NotANumberModel).embed_query("x")


async def test_a_closed_embedder_is_unavailable() -> None:
    """After close there are no more vectors."""
    embedder = local(FakeModel)
    await embedder.embed_query("x")
    await embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await embedder.embed_query("x")


def test_another_model_file_is_refused(tmp_path: Path) -> None:
    """A model file with another hash is another embedding space."""
    file = tmp_path / "model.bin"
    file.write_bytes(b"weights")
    check_file(file, hashlib.sha256(b"weights").hexdigest())
    with pytest.raises(ValueError, match="model"):
        check_file(file, hashlib.sha256(b"others").hexdigest())


# --- servers that speak OpenAI's API --------------------------------------------------------------------------------


async def test_requests_are_batched(server: EmbeddingServer, remote: OpenAIEmbedder) -> None:
    """At most 64 inputs a request; the profile names the model and the dimension is learnt from the answer."""
    assert (remote.profile, remote.dimension) == ("openai:m", 0)
    texts = [f"text {n}" for n in range(130)]
    vectors = await remote.embed_passages(texts)
    assert remote.dimension == DIMENSION
    assert [len(request["input"]) for request in server.requests] == [64, 64, 2]  # type: ignore[arg-type]
    assert {(r["path"], r["model"], r["key"]) for r in server.requests} == {
        ("/v1/embeddings", "m", "bearer key")
    }
    expected = np.array(meaning(texts[129]))
    assert vectors[129] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-5)


@pytest.mark.parametrize(
    "answer",
    [
        lambda inputs: (401, {"error": {"message": "secret text"}}),
        lambda inputs: (307, {}),
        lambda inputs: (200, {"data": []}),
        lambda inputs: (200, {"unexpected": True}),
        lambda inputs: (200, {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}),
        lambda inputs: (200, {"data": [{"index": 0, "embedding": ["x", None]}]}),
    ],
    ids=["refused", "redirect", "none", "no data", "zero", "not numbers"],
)
async def test_a_bad_answer_is_unavailable(
    server: EmbeddingServer, remote: OpenAIEmbedder, answer: Callable[[list[str]], tuple[int, object]]
) -> None:
    """Refusals, redirects and malformed answers are one error, without the server's text."""
    server.answer = answer
    with pytest.raises(EmbedderUnavailable) as raised:
        await remote.embed_query("x")
    assert "secret" not in str(raised.value)
    assert len(server.requests) == 1


async def test_a_server_that_changes_its_model_is_unavailable(
    server: EmbeddingServer, remote: OpenAIEmbedder
) -> None:
    """Vectors of another dimension than before are refused."""
    await remote.embed_query("x")
    server.answer = lambda inputs: (200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
    with pytest.raises(EmbedderUnavailable, match="dimensions"):
        await remote.embed_query("y")


async def test_no_server_is_unavailable() -> None:
    """A server that is not there is an error within the deadline, not an exception of the client library."""
    embedder = OpenAIEmbedder("http://127.0.0.1:9/v1", "m", "", timeout=1.0)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed_query("x")
    await embedder.close()


# --- profiles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["e5", "use", "openai:text-embedding-3-small", "external(384)"])
async def test_a_profile_names_its_embedder(profile: str) -> None:
    """The embedder of a profile carries its name, and opening it loads nothing."""
    embedder = open_embedder(profile, Endpoint("http://127.0.0.1:9/v1", ""))
    assert embedder.profile == profile
    await embedder.close()


@pytest.mark.parametrize("profile", ["", "E5", "openai:", "openai", "external(0)", "external(x)"])
def test_other_profiles_are_refused(profile: str) -> None:
    """A misspelt profile is an error, never another embedder."""
    with pytest.raises(ValueError, match="profile"):
        open_embedder(profile, Endpoint("http://127.0.0.1:9/v1", ""))


async def test_external_vectors_are_never_computed() -> None:
    """With callers' vectors there is a dimension and no embedder."""
    embedder = open_embedder("external(3)")
    assert embedder.dimension == 3
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed_query("x")
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed_passages(["x"])


def test_background_is_known_for_measured_profiles_only() -> None:
    """That of other profiles, and within other languages, is unknown; texts in two languages have less in common."""
    use, e5, unknown = map(calibration_of, ("use", "e5", "openai:m"))
    for language in ("zh", "en"):
        assert all(0.0 < each.background(language, language) < 0.2 for each in (use, e5))
        assert math.isnan(unknown.background(language, language))
    assert math.isnan(unknown.background("zh", "en"))
    assert math.isnan(e5.background("ko", "ko"))
    assert all(each.background("zh", "en") < each.background("en", "en") for each in (use, e5))


@pytest.mark.parametrize("profile", ["e5", "use", "openai:m", "external(8)"])
def test_a_suspicion_threshold_is_a_cosine(profile: str) -> None:
    """The threshold is a positive cosine below that of equal texts, whatever the profile."""
    closeness = calibration_of(profile).closeness
    for one, other in (("zh", "zh"), ("en", "en"), ("zh", "en")):
        assert 0.0 < closeness.threshold(one, other) < 1.0


class CountingModel(FakeModel):
    """Counts the queries that reach it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query(self, text: str) -> Vectors:
        self.asked.append(text)
        return super().query(text)


async def test_queries_are_remembered_least_recently_used_out() -> None:
    """A query asked again is not computed again, until enough others came between; its vector cannot be changed."""
    model = CountingModel()
    embedder = CachedQueries(local(lambda: model), entries=2)
    vectors = [await embedder.embed_query(text) for text in ("a", "b", "a", "c", "a", "b")]
    assert model.asked == ["a", "b", "c", "b"]
    with pytest.raises(ValueError, match="read-only"):
        vectors[0][0] = 1.0
    await embedder.close()


async def test_a_query_is_computed_once_for_all_who_wait_for_it() -> None:
    """Also when the first of them gives up; after a failure it is computed anew."""
    model = CountingModel()
    embedder = CachedQueries(local(lambda: model))
    waiting = [asyncio.create_task(embedder.embed_query("a")) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    vectors = await asyncio.gather(*waiting[1:])
    assert model.asked == ["a"]
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)
    await embedder.close()
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable):
            await embedder.embed_query("b")


# --- chunks ---------------------------------------------------------------------------------------------------------


def test_batches_are_bounded_and_lose_nothing() -> None:
    """A batch has at most so many texts, and beyond its first so many bytes."""
    texts = ["a" * 500] * 3 + ["b"] * 9 + ["c" * CALL_BYTES]
    found = batches(texts, 4)
    assert [text for batch in found for text in batch] == texts
    assert all(len(batch) <= 4 and sum(map(len, batch)) <= CALL_BYTES for batch in found)


@pytest.fixture(autouse=True)
def no_direct_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep loopback requests on this machine."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
