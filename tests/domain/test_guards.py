"""The limits on contacts of a person, in any order of planning and with failed contacts."""

from collections import Counter, defaultdict
from datetime import date, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import Guards
from dunwell.contact.messages.guards.guards import (
    GuardCandidate,
    GuardHold,
    HoldReason,
    UpdatedGuard,
    compute_first_free_day,
    decide_contacts,
    has_room,
    remove_contact_day,
)

MONDAY = date(2026, 3, 2)
DAY = timedelta(days=1)
ANNA, HER_NUMBER, BERND = b"anna", b"number", b"bernd"


def contact(number: int, *identities: bytes) -> GuardCandidate:
    return GuardCandidate(UUID(int=number), identities)


def test_the_second_contact_of_a_person_is_held_until_tomorrow() -> None:
    verdict = decide_contacts([contact(1, ANNA), contact(2, ANNA)], {}, Guards(), MONDAY)
    assert verdict.passed == (contact(1, ANNA),)
    assert verdict.held == {UUID(int=2): GuardHold(HoldReason.GUARD_DAY, MONDAY + DAY)}
    assert verdict.updated_guards == (UpdatedGuard(ANNA, (MONDAY,), 1, 3, is_new=True),)


def test_a_person_is_recognised_by_any_identity_and_all_are_counted() -> None:
    both = contact(1, HER_NUMBER, ANNA)
    verdict = decide_contacts([both, contact(2, HER_NUMBER, BERND)], {}, Guards(), MONDAY)
    assert verdict.passed == (both,)
    # In the order in which they are locked.
    assert [each.identity for each in verdict.updated_guards] == sorted([HER_NUMBER, ANNA])


def test_a_held_contact_does_not_count_against_others() -> None:
    known = {HER_NUMBER: [MONDAY]}
    held, free = contact(1, ANNA, HER_NUMBER), contact(2, ANNA)
    verdict = decide_contacts([held, free], known, Guards(), MONDAY)
    assert verdict.passed == (free,)


def test_the_week_is_the_day_and_the_six_before() -> None:
    days = [MONDAY, MONDAY + DAY, MONDAY + 2 * DAY]
    friday = MONDAY + 4 * DAY
    verdict = decide_contacts([contact(1, ANNA)], {ANNA: days}, Guards(), friday)
    assert verdict.held == {UUID(int=1): GuardHold(HoldReason.GUARD_WEEK, MONDAY + 7 * DAY)}
    assert not has_room(days, Guards(), MONDAY + 6 * DAY)
    assert has_room(days, Guards(), MONDAY + 7 * DAY)


def test_a_contact_over_both_limits_is_held_by_the_weekly_one() -> None:
    guards = Guards(max_contacts_per_day=1, max_contacts_per_week=1)
    verdict = decide_contacts([contact(1, ANNA)], {ANNA: [MONDAY]}, guards, MONDAY)
    assert verdict.held[UUID(int=1)] == GuardHold(HoldReason.GUARD_WEEK, MONDAY + 7 * DAY)


def test_contacts_of_the_following_day_count_for_the_week() -> None:
    guards = Guards(max_contacts_per_day=1, max_contacts_per_week=1)
    assert not has_room([MONDAY + DAY], guards, MONDAY)
    assert has_room([MONDAY + DAY], Guards(), MONDAY)


def test_lowered_limits_apply_at_once_and_old_days_are_dropped() -> None:
    days = [MONDAY - 20 * DAY, MONDAY, MONDAY, MONDAY + DAY]
    lowered = Guards(max_contacts_per_day=1, max_contacts_per_week=4)
    wednesday = MONDAY + 2 * DAY
    verdict = decide_contacts([contact(1, ANNA)], {ANNA: days}, lowered, wednesday)
    assert verdict.updated_guards == (
        UpdatedGuard(ANNA, (*days[1:], wednesday), 2, 4, is_new=False),
    )
    assert decide_contacts([contact(1, ANNA)], {ANNA: days}, lowered, MONDAY).passed == ()


def test_removing_a_contact_day_removes_one_contact_of_that_day_only() -> None:
    assert remove_contact_day([MONDAY, MONDAY, MONDAY + DAY], MONDAY) == [MONDAY, MONDAY + DAY]
    assert remove_contact_day([MONDAY + DAY], MONDAY) == [MONDAY + DAY]


people = st.lists(st.sampled_from([ANNA, HER_NUMBER, BERND]), min_size=1, max_size=3, unique=True)
limits = st.builds(
    Guards, max_contacts_per_day=st.integers(1, 3), max_contacts_per_week=st.integers(1, 6)
)
# Per day: the persons to contact, and which of the sent contacts failed afterwards.
days_of_work = st.lists(
    st.tuples(st.lists(people, max_size=6), st.sets(st.integers(0, 5), max_size=3)), max_size=20
)


@given(days_of_work, limits)
def test_no_person_is_contacted_above_the_limits_whichever_contacts_fail(
    work: list[tuple[list[list[bytes]], set[int]]], guards: Guards
) -> None:
    known: dict[bytes, list[date]] = {}
    contacted: dict[bytes, list[date]] = defaultdict(list)
    for offset, (wanted, failing) in enumerate(work):
        today = MONDAY + offset * DAY
        candidates = [contact(n, *identities) for n, identities in enumerate(wanted)]
        verdict = decide_contacts(candidates, known, guards, today)
        known |= {each.identity: list(each.days) for each in verdict.updated_guards}
        for each in verdict.passed:
            for identity in each.identities:
                if each.contact_id.int in failing:
                    known[identity] = remove_contact_day(known[identity], today)
                else:
                    contacted[identity].append(today)
    for dates in contacted.values():
        assert max(Counter(dates).values()) <= guards.max_contacts_per_day
        assert all(
            sum(end - 7 * DAY < day <= end for day in dates) <= guards.max_contacts_per_week
            for end in dates
        )


@given(st.lists(people, min_size=1, max_size=25), limits)
def test_no_contact_is_held_for_ever(wanted: list[list[bytes]], guards: Guards) -> None:
    waiting = {n: contact(n, *identities) for n, identities in enumerate(wanted)}
    due = dict.fromkeys(waiting, MONDAY)
    known: dict[bytes, list[date]] = {}
    # A full week for each contact, in case all are for the same person.
    for offset in range(7 * len(wanted) + 1):
        today = MONDAY + offset * DAY
        ready = [waiting[n] for n in sorted(waiting) if due[n] <= today]
        verdict = decide_contacts(ready, known, guards, today)
        known |= {each.identity: list(each.days) for each in verdict.updated_guards}
        for each in verdict.passed:
            del waiting[each.contact_id.int]
        for key, hold in verdict.held.items():
            assert hold.until > today
            due[key.int] = hold.until
    assert waiting == {}


@given(st.integers(1, 12), limits)
def test_contacts_of_a_person_are_sent_in_the_order_of_planning(count: int, guards: Guards) -> None:
    waiting, known = [contact(n, ANNA) for n in range(count)], dict[bytes, list[date]]()
    gone: list[int] = []
    for offset in range(7 * count):
        verdict = decide_contacts(waiting, known, guards, MONDAY + offset * DAY)
        known |= {each.identity: list(each.days) for each in verdict.updated_guards}
        gone += [each.contact_id.int for each in verdict.passed]
        waiting = [each for each in waiting if each not in verdict.passed]
    assert gone == list(range(count))


@given(st.lists(st.lists(st.integers(-8, 3), max_size=6), min_size=1, max_size=3), limits)
def test_a_hold_ends_on_the_first_day_within_the_limits(
    offsets: list[list[int]], guards: Guards
) -> None:
    identities = [[MONDAY + n * DAY for n in some] for some in offsets]
    first = compute_first_free_day(identities, guards, MONDAY)
    before = [MONDAY + n * DAY for n in range(1, (first - MONDAY).days)]
    assert all(has_room(days, guards, first) for days in identities)
    assert not any(all(has_room(days, guards, day) for days in identities) for day in before)
