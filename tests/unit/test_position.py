"""Positions and the tokens that carry them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_bus.domain.errors import InvalidField
from hindsight_bus.domain.position import Position, Positions

position_sets = st.dictionaries(
    st.integers(0, 300), st.tuples(st.integers(0, 2**53), st.integers(1, 2**32 - 1)), max_size=20
).map(lambda d: Positions(Position(p, r, s if r else 0) for p, (r, s) in d.items()))


@given(position_sets)
def test_a_token_carries_every_position(positions: Positions) -> None:
    """What is encoded is decoded again."""
    assert dict(Positions.decode(positions.encode("t"), "t")) == dict(positions)


@given(position_sets)
def test_a_token_of_another_tenant_is_refused(positions: Positions) -> None:
    """A token is bound to its tenant, and the error names the field."""
    with pytest.raises(InvalidField) as caught:
        Positions.decode(positions.encode("a"), "b", "start.tokens.tokens[0]")
    assert caught.value.field == "start.tokens.tokens[0]"


@given(position_sets, st.data())
def test_a_token_that_was_tampered_with_is_refused(positions: Positions, data: st.DataObject) -> None:
    """Every changed character is noticed, or changes nothing."""
    token = positions.encode("t")
    at = data.draw(st.integers(0, len(token) - 1))
    changed = token[:at] + data.draw(st.sampled_from("ABab01-_")) + token[at + 1 :]
    with contextlib.suppress(InvalidField):
        assert dict(Positions.decode(changed, "t")) == dict(positions)


@given(st.text())
def test_no_text_does_more_than_be_refused(text: str) -> None:
    """Arbitrary text is INVALID_FIELD and nothing else."""
    with pytest.raises(InvalidField):
        Positions.decode(text, "t")


@given(position_sets, position_sets)
def test_merging_keeps_the_later_position_of_each_partition(one: Positions, other: Positions) -> None:
    """A merge loses no partition and goes back in none."""
    merged = one.merged(other)
    assert set(merged) == set(one) | set(other)
    for source in (one, other):
        for partition, position in source.items():
            assert merged[partition].revision >= position.revision


def test_a_token_over_256_partitions_fits_its_limit() -> None:
    """Even a busy cluster's token stays under the 4,096 characters that the contract allows."""
    busy = Positions(Position(p, 10**9 + p, 2**32 - 1) for p in range(256))
    assert len(busy.encode("t")) <= 4096
