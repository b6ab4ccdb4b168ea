"""Which waiting requests form a batch."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.request_batcher import WaitingRequest, split_next_batch

ROOM = 10
LINES = st.lists(
    st.builds(
        WaitingRequest,
        question=st.none(),
        size=st.integers(1, ROOM + 3),
        names=st.frozensets(st.sampled_from("abcde"), max_size=3),
        kind=st.sampled_from(["old", "new"]),
    ),
    max_size=12,
)
Line = list[WaitingRequest[None]]


def a_waiting(names: str = "", size: int = 1, kind: str = "old") -> WaitingRequest[None]:
    return WaitingRequest(None, size, frozenset(names), kind)


def empty_line(line: Line) -> list[Line]:
    """Return all batches, one after another."""
    sets = []
    while line:
        taken, line = split_next_batch(line, ROOM)
        sets.append(taken)
    return sets


@given(LINES)
def test_every_request_is_in_one_batch_in_order_of_arrival(line: Line) -> None:
    sets = empty_line(line)

    assert sorted(map(line.index, chain(*sets))) == list(range(len(line)))
    assert all([*map(line.index, each)] == sorted(map(line.index, each)) for each in sets)


@given(LINES)
def test_the_first_request_is_in_the_next_batch(line: Line) -> None:
    taken, _ = split_next_batch(line, ROOM)
    assert taken[:1] == line[:1]


@given(LINES)
def test_a_batch_has_one_kind_and_stays_within_its_size_limit(
    line: Line,
) -> None:
    for each in empty_line(line):
        assert len({member.kind for member in each}) == 1
        assert len(each) == 1 or sum(member.size for member in each) <= ROOM


@given(LINES)
def test_requests_for_the_same_name_are_answered_in_order(
    line: Line,
) -> None:
    sets = empty_line(line)
    place = {member: number for number, members in enumerate(sets) for member in members}
    for earlier, later in combinations(line, 2):
        if earlier.names & later.names:
            assert place[earlier] < place[later]


@given(LINES)
def test_every_request_that_fits_is_in_the_batch(line: Line) -> None:
    taken, left = split_next_batch(line, ROOM)
    room = ROOM - sum(member.size for member in taken)
    for each in left:
        before = line[: line.index(each)]
        is_named = any(each.names & other.names for other in before)
        assert is_named or each.kind != taken[0].kind or each.size > room


def test_a_skipped_request_reserves_its_names() -> None:
    first, passed, last = a_waiting("a"), a_waiting("ab"), a_waiting("b")
    assert split_next_batch([first, passed, last], ROOM) == ([first], [passed, last])


def test_a_request_of_another_kind_waits() -> None:
    old, new = a_waiting(), a_waiting(kind="new")
    assert split_next_batch([old, new, old], ROOM) == ([old, old], [new])
