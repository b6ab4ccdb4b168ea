"""Which claims a payment on a bank statement belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.covering_sets import find_covering_sets
from dunwell.cases.statements.match_reasons import is_known_return
from dunwell.cases.statements.matching import (
    ArrivedMoney,
    CandidateClaim,
    MatchCandidates,
    MatchDecision,
    MatchRule,
    decide_match,
)
from dunwell.core.claims.reference_forms import (
    has_valid_check_digits,
    list_written_references,
    normalize_reference,
)
from dunwell.core.claims.states import Status

_NUMBER = "INV-2026-000123"


def _claim(
    claim_id: int = 1, number: str = _NUMBER, owed: int = 10240, status: Status = Status.IN_PROCESS,
    currency: str = "EUR",
) -> CandidateClaim:  # fmt: skip
    return CandidateClaim(claim_id, number, currency, status, owed, "C-1")


def _money(cents: int, *lines: str, structured: tuple[str, ...] = ()) -> ArrivedMoney:
    return ArrivedMoney(cents, "EUR", list_written_references(structured, lines), ["E2E-1"])


def _decide(money: ArrivedMoney, *claims: CandidateClaim, tolerance: int = 0) -> MatchDecision:
    return decide_match(money, MatchCandidates(by_reference=claims), tolerance)


def _checked(number: str) -> str:
    body = "".join(each for each in number.upper() if each.isalnum())
    return next(
        each for digits in range(100) if has_valid_check_digits(each := f"RF{digits:02}{body}")
    )


def test_check_digits_of_a_published_example_are_valid_and_of_a_typo_are_not() -> None:
    assert has_valid_check_digits("RF18539007547034")
    assert not has_valid_check_digits("RF18539007547043")


def test_a_reference_with_check_digits_and_the_exact_amount_comes_first() -> None:
    found = _decide(_money(10240, structured=(_checked(_NUMBER),)), _claim()).match
    assert found is not None
    assert found.rule is MatchRule.CHECKED_REFERENCE
    assert found.explanation.endswith("it is exactly the amount owed (102.40 EUR).")


def test_check_digits_are_also_read_in_groups_of_four() -> None:
    written = _checked("20260001234567")
    grouped = " ".join(written[start : start + 4] for start in range(0, len(written), 4))
    found = _decide(_money(10240, f"Zahlung {grouped} danke"), _claim(number="20260001234567"))
    assert found.match is not None
    assert found.match.rule is MatchRule.CHECKED_REFERENCE


@pytest.mark.parametrize("cents", [10240, 100, 20000])
def test_a_whole_reference_is_booked_with_any_amount(cents: int) -> None:
    found = _decide(_money(cents, f"Rechnung {_NUMBER}, vielen Dank"), _claim()).match
    assert found is not None
    assert found.rule is MatchRule.REFERENCE
    assert [(each.claim_id, each.cents) for each in found.parts] == [(1, cents)]
    assert ("surplus" in found.explanation) is (cents == 20000)
    assert ("it is part" in found.explanation) is (cents == 100)


@pytest.mark.parametrize(
    "line",
    ["inv 2026 000123", "INV-2O26-OOO123", "INV-2026-", "Rg:INV2026000123", "1NV-2026-000123"],
)
def test_a_damaged_reference_is_booked_and_the_damage_is_shown(line: str) -> None:
    lines = (line, "000123") if line.endswith("-") else (line,)
    found = _decide(_money(10240, *lines), _claim()).match
    assert found is not None
    assert found.rule is MatchRule.DAMAGED_REFERENCE
    assert f'instead of "{_NUMBER}"' in found.explanation


def test_a_long_word_is_no_part_of_a_broken_reference() -> None:
    written = list_written_references([], ["Rechnung 2026 0001"])
    assert {"20260001", "2026", "0001"} == written.normal.keys()


def test_a_damaged_reference_with_more_than_is_owed_is_only_proposed() -> None:
    found = _decide(_money(10241, "inv 2026 000123"), _claim())
    assert found.match is None
    assert [each.rule for each in found.proposals] == [MatchRule.DAMAGED_REFERENCE]


def test_the_end_to_end_id_of_a_collection_names_its_claim() -> None:
    candidates = MatchCandidates(by_debit={"E2E-1": _claim()})
    found = decide_match(_money(10240, "Lastschrift"), candidates).match
    assert found is not None
    assert found.rule is MatchRule.MANDATE


@pytest.mark.parametrize("number", ["4711", "2711202", "A-12"])
def test_a_short_number_is_only_proposed(number: str) -> None:
    found = _decide(_money(10240, f"Kunde {number}"), _claim(number=number))
    assert found.match is None
    assert [each.rule for each in found.proposals] == [MatchRule.SHORT_NUMBER]


def test_an_earlier_payers_account_is_only_proposed_and_only_with_the_exact_amount() -> None:
    candidates = MatchCandidates(by_payer=[_claim(1), _claim(2, "B-200-300", owed=10239)])
    found = decide_match(_money(10240, "danke"), candidates)
    assert found.match is None
    assert [(each.rule, each.parts[0].claim_id) for each in found.proposals] == [
        (MatchRule.PAYER_ACCOUNT, 1)
    ]


def test_a_claim_in_another_currency_is_never_matched() -> None:
    found = _decide(_money(10240, _NUMBER), _claim(currency="USD"))
    assert found == MatchDecision(None)


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.WITHDRAWN])
def test_a_claim_that_has_ended_is_only_proposed(status: Status) -> None:
    found = _decide(_money(10240, _NUMBER), _claim(status=status))
    assert found.match is None
    assert [each.rule for each in found.proposals] == [MatchRule.REFERENCE]


def test_all_claims_that_the_text_names_are_booked_if_their_sum_is_exact() -> None:
    claims = _claim(1), _claim(2, "INV-2026-000124", owed=5000)
    found = _decide(_money(15240, "INV-2026-000123 INV-2026-000124"), *claims).match
    assert found is not None
    assert found.rule is MatchRule.COVERING_SET
    assert [(each.claim_id, each.cents) for each in found.parts] == [(1, 10240), (2, 5000)]


def test_several_named_claims_with_another_sum_are_decided_by_a_person() -> None:
    claims = _claim(1), _claim(2, "INV-2026-000124", owed=5000)
    found = _decide(_money(15241, "INV-2026-000123 INV-2026-000124"), *claims)
    assert found.match is None
    assert [each.parts[0].claim_id for each in found.proposals] == [1, 2]


@pytest.mark.parametrize("other", [
    _claim(2, "INV-2026-000124", owed=0), _claim(2, "INV-2026-000124", 5000, Status.ARCHIVED),
    _claim(2, "INV-2026-000124", 5000, Status.COLLECTED),
])  # fmt: skip
def test_named_claims_are_booked_together_only_if_each_is_open(other: CandidateClaim) -> None:
    cents = 10240 + other.outstanding_cents
    found = _decide(_money(cents, "INV-2026-000123 INV-2026-000124"), _claim(1), other)
    assert found.match is None


def test_a_named_claim_may_owe_a_single_cent() -> None:
    claims = _claim(1), _claim(2, "INV-2026-000124", owed=1)
    found = _decide(_money(10241, "INV-2026-000123 INV-2026-000124"), *claims).match
    assert found is not None
    assert [each.cents for each in found.parts] == [10240, 1]


@pytest.mark.parametrize(("cents", "claim_ids"), [(15240, [1, 2]), (18240, [1, 2, 3])])
def test_claims_that_different_rules_find_are_booked_together(
    cents: int, claim_ids: list[int]
) -> None:
    """Two claims have the number that is written whole, and a third one has another number."""
    claims = _claim(1), _claim(2, owed=5000), _claim(3, "B-200-300", owed=3000)
    found = _decide(_money(cents, f"{_NUMBER} b 200 300"), *claims).match
    assert found is not None
    assert [each.claim_id for each in found.parts] == claim_ids


def test_the_last_of_three_claims_gets_the_rest() -> None:
    owed = {1: 1000, 2: 2000, 3: 3000}
    claims = [_claim(each, f"B-200-30{each}", cents) for each, cents in owed.items()]
    found = _decide(_money(6000, "B-200-301 B-200-302 B-200-303"), *claims).match
    assert found is not None
    assert {each.claim_id: each.cents for each in found.parts} == owed


def test_a_set_of_a_payers_claims_may_differ_by_the_tolerance() -> None:
    candidates = MatchCandidates(by_payer=[_claim(1), _claim(2, "B-200", owed=5000)])
    found = decide_match(_money(15235, "danke"), candidates, 5)
    assert [[each.cents for each in one.parts] for one in found.proposals] == [[10240, 4995]]
    assert decide_match(_money(15235, "danke"), candidates, 4).proposals == ()


@pytest.mark.parametrize(("cents", "is_booked"), [(10250, True), (10251, False)])
def test_a_damaged_reference_is_booked_with_a_surplus_within_the_tolerance(
    cents: int, *, is_booked: bool
) -> None:
    found = _decide(_money(cents, "inv 2026 000123"), _claim(), tolerance=10)
    assert (found.match is not None) is is_booked


@pytest.mark.parametrize(("owed", "is_proposed"), [(0, False), (1, True)])
def test_a_claim_that_owes_nothing_is_not_proposed_for_its_payer(
    owed: int, *, is_proposed: bool
) -> None:
    candidates = MatchCandidates(by_payer=[_claim(owed=owed)])
    found = decide_match(_money(1, "danke"), candidates, 1)
    assert bool(found.proposals) is is_proposed


def test_the_reasons_name_what_was_written_and_the_claim() -> None:
    written = _checked(_NUMBER)
    checked = _decide(_money(10240, structured=(written,)), _claim()).match
    whole = _decide(_money(10240, _NUMBER), _claim()).match
    short = _decide(_money(10240, "Kunde 4711"), _claim(number="4711")).proposals[0]
    by_debit = MatchCandidates(by_debit={"E2E-1": _claim()})
    mandate = decide_match(_money(10240, "Lastschrift"), by_debit).match
    damaged = _decide(_money(10240, "inv 2026 000123"), _claim()).match
    for found, *texts in (
        (checked, written), (whole, _NUMBER), (short, "4711"), (mandate, "E2E-1"),
        (damaged, "inv 2026 000123", _NUMBER),
    ):  # fmt: skip
        assert found is not None
        for text in texts:
            assert text in found.explanation


def test_claims_of_a_known_payer_whose_sum_is_exact_are_proposed_as_a_set() -> None:
    candidates = MatchCandidates(by_payer=[_claim(1), _claim(2, "B-200", owed=5000)])
    found = decide_match(_money(15240, "danke"), candidates)
    assert found.match is None
    assert [each.rule for each in found.proposals] == [MatchRule.COVERING_SET]


def test_a_set_has_no_claim_in_another_currency() -> None:
    claims = [_claim(1), _claim(2, "B-200", owed=5000, currency="USD")]
    assert decide_match(_money(15240, "danke"), MatchCandidates(by_payer=claims)).proposals == ()


def test_a_tolerance_makes_an_amount_exact_up_to_its_limit() -> None:
    line = _checked(_NUMBER)
    assert _rule(_decide(_money(10230, structured=(line,)), _claim(), tolerance=10)) == (
        MatchRule.CHECKED_REFERENCE
    )
    assert _rule(_decide(_money(10229, structured=(line,)), _claim(), tolerance=10)) == (
        MatchRule.REFERENCE
    )


def _rule(found: MatchDecision) -> MatchRule | None:
    return None if found.match is None else found.match.rule


def test_covering_sets_are_found_by_exact_sum_and_limited() -> None:
    assert find_covering_sets(300, {1: 100, 2: 200, 3: 150, 4: 150}).sets == (
        frozenset({1, 2}), frozenset({3, 4}),
    )  # fmt: skip
    assert find_covering_sets(100, {1: 100}).sets == ()
    equal = find_covering_sets(200, dict.fromkeys(range(30), 100))
    assert (len(equal.sets), equal.is_complete) == (10, False)
    many = find_covering_sets(50_000, dict.fromkeys(range(1, 80), 1_000))
    assert not many.is_complete
    assert not many.is_unique


@given(
    st.dictionaries(st.integers(1, 30), st.integers(1, 500), max_size=12),
    st.integers(1, 2000),
    st.integers(0, 5),
)
def test_every_covering_set_has_the_sum_and_none_is_missed(
    amounts: dict[int, int], total: int, tolerance: int
) -> None:
    found = find_covering_sets(total, amounts, tolerance)
    for chosen in found.sets:
        assert abs(sum(amounts[each] for each in chosen) - total) <= tolerance
    if found.is_complete:
        ids = sorted(amounts)
        subsets = (
            frozenset(each for place, each in enumerate(ids) if bits >> place & 1)
            for bits in range(1 << len(ids))
        )
        expected = {
            each
            for each in subsets
            if len(each) > 1 and abs(sum(amounts[one] for one in each) - total) <= tolerance
        }
        assert set(found.sets) == expected


_CLAIMS = st.lists(
    st.tuples(st.integers(0, 20_000), st.sampled_from(list(Status))), min_size=1, max_size=4
)


@given(_CLAIMS, st.integers(1, 40_000), st.data())
def test_a_match_spends_the_payment_exactly_and_any_surplus_is_named(
    made: list[tuple[int, Status]], cents: int, data: st.DataObject
) -> None:
    claims = [
        _claim(number, f"INV-2026-{number:06}", owed=owed, status=status)
        for number, (owed, status) in enumerate(made)
    ]
    named = data.draw(st.lists(st.sampled_from([each.reference_number for each in claims])))
    candidates = MatchCandidates(by_reference=claims, by_payer=claims)
    decision = decide_match(_money(cents, " ".join(named)), candidates)
    owed = {each.claim_id: each.outstanding_cents for each in claims}
    for found in (decision.match, *decision.proposals):
        if found is None:
            continue
        assert sum(part.cents for part in found.parts) == cents
        assert len({part.claim_id for part in found.parts}) == len(found.parts)
        assert all(part.cents > 0 for part in found.parts)
        has_surplus = any(part.cents > owed[part.claim_id] for part in found.parts)
        assert has_surplus is ("surplus" in found.explanation)
    if decision.match is not None:
        numbers = {each.claim_id: each.reference_number for each in claims}
        assert all(numbers[part.claim_id] in named for part in decision.match.parts)


@given(st.text(max_size=30))
def test_normalising_a_reference_twice_is_the_same_as_once(text: str) -> None:
    assert normalize_reference(normalize_reference(text)) == normalize_reference(text)


@pytest.mark.parametrize(
    ("reason", "is_known"), [("AC04", True), ("0000", False), ("XX99", False), (None, False)]
)
def test_only_a_known_reason_reverses_a_payment(reason: str | None, *, is_known: bool) -> None:
    assert is_known_return(reason) is is_known
