"""The payment plans and deferrals to show a debtor, with exact dates and sums, and the nearest one
to what the merchant refused. Pure.
"""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dunwell.accounts.merchants.configuration import Modalities, Plans
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.limits import (
    MAX_INSTALMENTS,
    DeferralTerms,
    ModalityFacts,
    PlanTerms,
    Terms,
    compute_deferral_range,
    compute_max_instalments,
    find_terms_faults,
)
from dunwell.cases.modalities.modality import Modality, ModalityType

# Out of which a merchant that names a least rate alone is offered.
_USUAL_COUNTS = (2, 3, 4, 6, 9, 12, 18, 24, 36)
_ALL_COUNTS = range(2, MAX_INSTALMENTS + 1)
_MAX_PLANS = 4
# By then the next income of most people has come.
_USUAL_FIRST_DATE = timedelta(days=14)
_TOMORROW = timedelta(days=1)
_WEEK = timedelta(days=7)
# Days to choose among are no nearer to each other.
_MIN_GAP = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class ModalityOffer:
    """Terms that can be asked for, and what they come to. A deferment's schedule has one entry."""

    terms: Terms
    schedule: tuple[Instalment, ...]

    @property
    def total_cents(self) -> int:
        return sum(each.amount_cents for each in self.schedule)


def list_offers(modalities: Modalities, facts: ModalityFacts, today: date) -> list[ModalityOffer]:
    """At most seven: plans by their number of rates, then deferments by their date; fewer, down to
    none, where the bounds leave no more. `today` is the merchant's."""
    terms: list[Terms] = [
        *list_offered_plans(modalities, facts, today),
        *list_offered_deferrals(modalities, facts, today),
    ]
    return [ModalityOffer(each, each.schedule(facts.outstanding_cents)) for each in terms]


def list_offered_plans(
    modalities: Modalities, facts: ModalityFacts, today: date
) -> list[PlanTerms]:
    """At most four, the fewest rates first."""
    return select_offered_plans(list_plans(modalities, facts, today), modalities)


def select_offered_plans(plans: Sequence[PlanTerms], modalities: Modalities) -> list[PlanTerms]:
    """Of every plan within the bounds, those that are shown."""
    counts = (modalities.plan and modalities.plan.counts) or _USUAL_COUNTS
    return _pick_evenly([each for each in plans if each.count in counts], _MAX_PLANS)


def list_offered_deferrals(
    modalities: Modalities, facts: ModalityFacts, today: date
) -> list[DeferralTerms]:
    """At most three, the soonest first."""
    if facts.outstanding_cents <= 0:
        return []
    return list(_list_deferrals(modalities, facts, today))


def list_plans(
    modalities: Modalities, facts: ModalityFacts, today: date, first_on: date | None = None
) -> list[PlanTerms]:
    """Every plan within the bounds, the fewest rates first, beginning on a day, or on the usual
    one."""
    plans = modalities.plan
    if plans is None or facts.outstanding_cents <= 0:
        return []
    return _list_fitting(
        modalities, facts=facts, counts=plans.counts or _ALL_COUNTS, today=today, first_on=first_on
    )


def find_plan(
    modalities: Modalities,
    facts: ModalityFacts,
    today: date,
    count: int,
    first_on: date | None = None,
) -> PlanTerms | None:
    """The one of so many rates among `list_plans`."""
    plans = modalities.plan
    if plans is None or facts.outstanding_cents <= 0 or count not in (plans.counts or _ALL_COUNTS):
        return None
    found = _list_fitting(modalities, facts=facts, counts=[count], today=today, first_on=first_on)
    return found[0] if found else None


def find_plan_by_instalment(
    plans: Sequence[PlanTerms], facts: ModalityFacts, rate_cents: int
) -> PlanTerms | None:
    """The one of the fewest rates with none above `rate_cents`."""
    return next(
        (each for each in plans if compute_instalment_cents(each, facts) <= rate_cents), None
    )


def compute_instalment_cents(plan: PlanTerms, facts: ModalityFacts) -> int:
    """A plan's highest rate, which is its first, in minor units."""
    return -(-facts.outstanding_cents // plan.count)


def _list_fitting(
    modalities: Modalities,
    facts: ModalityFacts,
    counts: Iterable[int],
    today: date,
    first_on: date | None = None,
) -> list[PlanTerms]:
    assert modalities.plan is not None
    days = list(_list_first_dates(modalities.plan, today)) if first_on is None else [first_on]
    most = compute_max_instalments(modalities.plan, facts)
    fitting = [count for count in sorted(counts) if count <= most]
    if fitting and not find_terms_faults(PlanTerms(fitting[-1], days[0]), modalities, facts, today):
        # Of the shorter ones each ends sooner, and its rates are higher.
        return [PlanTerms(count, days[0]) for count in fitting]
    found = (
        _find_first_date(modalities, facts=facts, count=count, days=days, today=today)
        for count in fitting
    )
    return [each for each in found if each is not None]


def _find_first_date(
    modalities: Modalities, facts: ModalityFacts, count: int, days: Sequence[date], today: date
) -> PlanTerms | None:
    """The plan beginning on the first of these days on which it is within the bounds."""
    for first_on in days:
        terms = PlanTerms(count, first_on)
        if not find_terms_faults(terms, modalities, facts, today):
            return terms
    return None


def _list_first_dates(plans: Plans, today: date) -> Iterator[date]:
    """The usual time, and at once for what would end too late."""
    furthest = timedelta(days=plans.first_date_within_days)
    yield today + min(_USUAL_FIRST_DATE, furthest)
    yield today + min(_TOMORROW, furthest)


def _list_deferrals(
    modalities: Modalities, facts: ModalityFacts, today: date
) -> Iterator[DeferralTerms]:
    """A week, a day between, and as long as possible; of less than ten days the half and all."""
    if modalities.deferment is None:
        return
    first, last = compute_deferral_range(modalities.deferment, facts, today)
    if last < first:
        return
    if last < today + _WEEK + _MIN_GAP:
        sooner = [max(first, today + (last - today) // 2)]
    else:
        sooner = [today + _WEEK, *_find_day_between(today, last)]
    for until in dict.fromkeys((*sooner, last)):
        yield DeferralTerms(until)


def _find_day_between(today: date, last: date) -> list[date]:
    """The month's end, by which most people's money has come, or two weeks; none where the other
    days would be nearly the same."""
    soonest = today + _WEEK + _MIN_GAP
    month_end = soonest.replace(day=monthrange(soonest.year, soonest.month)[1])
    days = (month_end, today + 2 * _WEEK)
    return [day for day in days if day + _MIN_GAP <= last][:1]


def _pick_evenly(terms: list[PlanTerms], most: int) -> list[PlanTerms]:
    """The first, the last, and what lies evenly between."""
    if len(terms) <= most:
        return terms
    return [terms[place * (len(terms) - 1) // (most - 1)] for place in range(most)]


_ONE_DAY = timedelta(days=1)


def find_nearest_offer(
    refused: Sequence[Terms], modalities: Modalities, facts: ModalityFacts, today: date
) -> ModalityOffer | None:
    """Return the offer within the bounds that is nearest to the terms refused last.

    `refused` starts with the newest and is not empty. Return None if the bounds leave nothing that
    asks the merchant for less than all of `refused`.

        refused last    the nearest offer
        a plan          the most instalments below every refused number, from the same first day
                        (from the usual one if that day has come or is not possible any more);
                        else all of it on the first day that was asked for
        a deferral      the latest of the days that are offered before every refused day
    """
    newest = refused[0]
    if isinstance(newest, PlanTerms):
        terms = _find_nearest_plan(newest, refused, modalities, facts=facts, today=today)
    else:
        terms = _find_nearest_deferral(refused, modalities, facts, today)
    return None if terms is None else ModalityOffer(terms, terms.schedule(facts.outstanding_cents))


def build_terms(modality: Modality) -> Terms:
    """Return what was asked for, as the debtor chose it."""
    first_on = modality.schedule[0].due_on
    if modality.type is ModalityType.PAYMENT_PLAN:
        return PlanTerms(len(modality.schedule), first_on)
    return DeferralTerms(first_on)


def _find_nearest_plan(
    asked: PlanTerms, refused: Sequence[Terms], modalities: Modalities,
    *, facts: ModalityFacts, today: date,
) -> Terms | None:  # fmt: skip
    below = min(each.count for each in refused if isinstance(each, PlanTerms))
    for first_on in (asked.first_on, None):
        # An instalment that is due today could not arrive in time.
        if first_on is not None and first_on <= today:
            continue
        plans = list_plans(modalities, facts, today, first_on)
        fewer = [each for each in plans if each.count < below]
        if fewer:
            return fewer[-1]
    # All of it on the day of the first instalment: the plan of one payment, so to speak.
    terms = DeferralTerms(min(asked.first_on, _find_last_day(refused)))
    return terms if _is_possible(terms, modalities, facts, today) else None


def _is_possible(
    terms: DeferralTerms, modalities: Modalities, facts: ModalityFacts, today: date
) -> bool:
    return facts.outstanding_cents > 0 and not find_terms_faults(terms, modalities, facts, today)


def _find_nearest_deferral(
    refused: Sequence[Terms], modalities: Modalities, facts: ModalityFacts, today: date
) -> DeferralTerms | None:
    last_day = _find_last_day(refused)
    days = list_offered_deferrals(modalities, facts, today)
    return next((each for each in reversed(days) if each.until <= last_day), None)


def _find_last_day(refused: Sequence[Terms]) -> date:
    """The last day before every day to which a deferral was refused."""
    days = [each.until for each in refused if isinstance(each, DeferralTerms)]
    return min(days, default=date.max) - _ONE_DAY
