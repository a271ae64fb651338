"""Writing memories: validate -> gate -> settle -> commit -> ack."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain, repeat

from hindsight_bus.app.attempt import WriteTools
from hindsight_bus.app.caller import Caller
from hindsight_bus.app.claim_attempt import ClaimAttempt
from hindsight_bus.app.draft import JudgedDraft, WriteDraft
from hindsight_bus.app.episode_attempt import EpisodeAttempt
from hindsight_bus.app.outcome import Outcome
from hindsight_bus.app.policies import PolicyBook
from hindsight_bus.app.views import Views
from hindsight_bus.domain.derivation import Derivation, derive_subject
from hindsight_bus.domain.errors import HbusError, InvalidField
from hindsight_bus.domain.gate import admit
from hindsight_bus.domain.language import detect
from hindsight_bus.domain.memory import Channel
from hindsight_bus.domain.policy import Policy
from hindsight_bus.domain.position import Positions
from hindsight_bus.domain.statements import statement_key, subject_key
from hindsight_bus.domain.values import replace


class Writer:
    """Writes memories."""

    def __init__(self, tools: WriteTools, policies: PolicyBook, views: Views) -> None:
        self._tools = tools
        self._policies = policies
        self._views = views

    async def write(self, caller: Caller, draft: WriteDraft) -> Outcome:
        """Write one memory; the answer comes when it is durable.

        Raises:
            AgentRequired, InvalidField, SupersedesIncomplete, ProfileMismatch, RequestIdReused, SubjectFull,
            QuotaExceeded, Contended, StoreUnavailable, OutcomeUnknown.
        """
        agent = caller.require_agent()
        caller.require_channel(draft.channel)
        policy = self._policies.in_force(draft.namespace)
        verdict = admit(
            draft.text,
            type=draft.type,
            channel=draft.channel,
            policy=policy,
            subject=draft.subject,
            value=draft.value,
            explicit=draft.explicit,
        )
        if verdict.rejection is not None:
            return Outcome(verdict.rejection, None, None, verdict.reason, Positions())
        confidence = draft.channel.default_confidence if draft.confidence is None else draft.confidence
        draft = replace(draft, confidence=min(confidence, caller.ceiling))
        judged = await self._judge(draft, agent, policy)
        committer, first = self._tools.committer, chain([True], repeat(False))
        if not draft.type.has_claims:
            return await committer.attempt(
                lambda: EpisodeAttempt(self._tools, judged).run(may_guess=next(first))
            )
        async with committer.locks.holding(draft.namespace.id, judged.subject_key):
            return await committer.attempt(
                lambda: ClaimAttempt(self._tools, judged).run(may_guess=next(first))
            )

    async def write_many(self, caller: Caller, drafts: Sequence[WriteDraft]) -> list[Outcome | HbusError]:
        """Write many memories side by side, those on one subject in order; each succeeds or fails on its own."""

        async def one(draft: WriteDraft) -> Outcome | HbusError:
            try:
                return await self.write(caller, draft)
            except HbusError as error:
                return error

        return await asyncio.gather(*map(one, drafts))

    async def _judge(self, draft: WriteDraft, agent: str, policy: Policy) -> JudgedDraft:
        language = draft.language or detect(draft.text)
        if not draft.type.has_claims:
            if draft.supersedes:
                raise InvalidField("memory.supersedes", "EPISODIC memories compete with nothing")
            return JudgedDraft(draft, agent, policy, language, None, "", "")
        derivation = None if draft.subject else await self._derive(draft, language)
        judged = JudgedDraft(draft, agent, policy, language, derivation, "", "")
        statement = statement_key(draft.text, judged.value)
        key = subject_key(draft.type, judged.subject if judged.competes else "", statement)
        return replace(judged, subject_key=key, statement=statement)

    async def _derive(self, draft: WriteDraft, language: str) -> Derivation | None:
        view = await self._views.open(draft.namespace)
        known = await self._views.ask(view, lambda v: v.subjects()) if view is not None else {}
        derivation = derive_subject(
            draft.text, language, known, speaker_is_user=draft.channel is Channel.USER
        )
        concerns_owner = draft.namespace.scope == "user" and draft.about in ("", draft.namespace.owner)
        if derivation is not None and derivation.single_valued and not concerns_owner:
            return replace(derivation, single_valued=False)
        return derivation
