"""What a meaning is compared as: found out once, when somebody begins to ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.records import RecordReader
from hindsight_bus.domain import vectors
from hindsight_bus.domain.calibration import calibration_of
from hindsight_bus.domain.errors import InvalidField, ProfileMismatch
from hindsight_bus.domain.language import UNKNOWN, detect
from hindsight_bus.domain.meaning import Meaning, MeaningQuery
from hindsight_bus.domain.names import Namespace, Pattern
from hindsight_bus.domain.profiles import external_dimension
from hindsight_bus.domain.suspicion import Closeness
from hindsight_bus.domain.values import Value
from hindsight_bus.ports import Embedder

_VECTOR = "filter.meaning.vector"


class _Space(Value):
    """A namespace and what its vectors are like, or will be."""

    namespace: Namespace
    profile: str
    dimension: int
    """0 = unknown."""


class Meanings:
    """Turns what somebody asks for into a vector and a threshold."""

    def __init__(self, reader: RecordReader, policies: PolicyBook, embedder: Embedder) -> None:
        self._reader = reader
        self._policies = policies
        self._embedder = embedder

    async def query(self, meaning: Meaning | None, patterns: Sequence[Pattern]) -> MeaningQuery | None:
        """Return the query for what lies under the patterns. A text is compared in the profile of this server.

        Raises:
            InvalidField: a namespace holds vectors of another dimension, or of its callers alone; no threshold is
                given, and none is known for the profile.
            ProfileMismatch: a namespace was made by another profile.
            EmbedderUnavailable: the text could not be embedded.
        """
        if meaning is None:
            return None
        named = filter(None, (pattern.namespace for pattern in patterns))
        spaces = await asyncio.gather(*map(self._space, named))
        if meaning.vector:
            vector = vectors.from_bytes(meaning.vector)
            profiles = self._profiles_of_vector(len(vector), spaces, patterns)
            return MeaningQuery.of(vector, _closeness(meaning, profiles), _language(meaning.text))
        self._require_own(spaces)
        closeness = _closeness(meaning, [self._embedder.profile])
        return MeaningQuery.of(
            await self._embedder.embed_query(meaning.text), closeness, _language(meaning.text)
        )

    async def _space(self, namespace: Namespace) -> _Space:
        stored = await self._reader.namespace(namespace)
        if stored is not None:
            return _Space(namespace, stored.record.profile, stored.record.dimension)
        profile = self._policies.in_force(namespace).embedding_profile or self._embedder.profile
        return _Space(namespace, profile, external_dimension(profile) or self._own_dimension(profile))

    def _own_dimension(self, profile: str) -> int:
        return self._embedder.dimension if profile == self._embedder.profile else 0

    def _require_own(self, spaces: Iterable[_Space]) -> None:
        """Require that each namespace has vectors of this server's profile."""
        for space in spaces:
            if external_dimension(space.profile):
                problem = f"is required: {space.namespace} ({space.profile}) holds vectors of its callers"
                raise InvalidField(_VECTOR, problem)
            if space.profile != self._embedder.profile:
                raise ProfileMismatch(str(space.namespace), space.profile, self._embedder.profile)

    def _profiles_of_vector(
        self, dimension: int, spaces: Iterable[_Space], patterns: Iterable[Pattern]
    ) -> set[str]:
        """Return the profiles of the namespaces named, and those of this dimension that others may have."""
        found = set()
        for space in spaces:
            if space.dimension not in (0, dimension):
                problem = (
                    f"has {dimension} dimensions, {space.namespace} ({space.profile}) has {space.dimension}"
                )
                raise InvalidField(_VECTOR, problem)
            found.add(space.profile)
        if any(pattern.namespace is None for pattern in patterns):
            known = {self._embedder.profile, *self._policies.embedding_profiles()}
            dimensions = {each: external_dimension(each) or self._own_dimension(each) for each in known}
            fitting = {each for each, own in dimensions.items() if own in (0, dimension)}
            if not fitting:
                problem = f"has {dimension} dimensions, vectors here have {sorted(set(dimensions.values()))}"
                raise InvalidField(_VECTOR, problem)
            found |= fitting
        return found


def _closeness(meaning: Meaning, profiles: Iterable[str]) -> dict[str, Closeness]:
    """Return the threshold given, else what fits each profile."""
    if meaning.threshold:
        return dict.fromkeys(profiles, Closeness(meaning.threshold, meaning.threshold))
    known = {profile: calibration_of(profile).alert for profile in sorted(profiles)}
    for profile, closeness in known.items():
        if closeness is None:
            raise InvalidField("filter.meaning.threshold", f"is required: {profile} was never calibrated")
    return {profile: closeness for profile, closeness in known.items() if closeness is not None}


def _language(text: str) -> str:
    language = detect(text)
    return "" if language == UNKNOWN else language
