"""The payment plans and deferrals that are offered to a debtor, with exact dates and amounts, and
the nearest alternative to refused terms. Pure."""

from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dunwell.accounts.merchants.configuration import ModalitySettings, PlanSettings
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.limits import (
    MAX_INSTALMENTS,
    DeferralTerms,
    ModalityFacts,
    PlanTerms,
    Terms,
    compute_deferral_range,
    compute_max_instalments,
    list_terms_faults,
)
from dunwell.cases.modalities.modality import Modality, ModalityType

# The numbers of instalments to offer if the merchant sets only a minimum instalment.
_USUAL_COUNTS = (2, 3, 4, 6, 9, 12, 18, 24, 36)
_ALL_COUNTS = range(2, MAX_INSTALMENTS + 1)
_MAX_PLANS = 4
# By then, most people have received their next income.
_USUAL_FIRST_DATE = timedelta(days=14)
_TOMORROW = timedelta(days=1)
_WEEK = timedelta(days=7)
# The least distance between two offered days.
_MIN_GAP = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class ModalityOffer:
    """Terms that can be requested, and their schedule. A deferral's schedule has one entry."""

    terms: Terms
    schedule: tuple[Instalment, ...]

    @property
    def total_cents(self) -> int:
        return sum(each.amount_cents for each in self.schedule)


def list_offers(
    modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> list[ModalityOffer]:
    """Return at most seven offers: plans by number of instalments, then deferrals by date. `today`
    is the day in the merchant's time zone."""
    terms: list[Terms] = [
        *list_offered_plans(modalities, facts, today),
        *list_offered_deferrals(modalities, facts, today),
    ]
    return [ModalityOffer(each, each.schedule(facts.outstanding_cents)) for each in terms]


def list_offered_plans(
    modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> list[PlanTerms]:
    """Return at most four plans, the fewest instalments first."""
    return select_offered_plans(list_plans(modalities, facts, today), modalities)


def select_offered_plans(
    plans: Sequence[PlanTerms], modalities: ModalitySettings
) -> list[PlanTerms]:
    """Select the plans to show from all plans within the limits."""
    counts = (modalities.plan and modalities.plan.counts) or _USUAL_COUNTS
    return _pick_evenly([each for each in plans if each.count in counts], _MAX_PLANS)


def list_offered_deferrals(
    modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> list[DeferralTerms]:
    """Return at most three deferrals, the earliest first."""
    if facts.outstanding_cents <= 0:
        return []
    return list(_list_deferrals(modalities, facts, today))


def list_plans(
    modalities: ModalitySettings, facts: ModalityFacts, today: date, first_on: date | None = None
) -> list[PlanTerms]:
    """Return every plan within the limits, the fewest instalments first. They start on `first_on`,
    or on the usual day."""
    plans = modalities.plan
    if plans is None or facts.outstanding_cents <= 0:
        return []
    return _list_fitting(
        modalities, facts=facts, counts=plans.counts or _ALL_COUNTS, today=today, first_on=first_on
    )


def find_plan(
    modalities: ModalitySettings,
    facts: ModalityFacts,
    today: date,
    count: int,
    first_on: date | None = None,
) -> PlanTerms | None:
    """Return the plan from `list_plans` with this number of instalments, or None."""
    plans = modalities.plan
    if plans is None or facts.outstanding_cents <= 0 or count not in (plans.counts or _ALL_COUNTS):
        return None
    fitting = _list_fitting(modalities, facts=facts, counts=[count], today=today, first_on=first_on)
    return fitting[0] if fitting else None


def find_plan_by_instalment(
    plans: Sequence[PlanTerms], facts: ModalityFacts, instalment_cents: int
) -> PlanTerms | None:
    """Return the plan with the fewest instalments of which none is above `instalment_cents`, or
    None.
    """
    return next(
        (each for each in plans if compute_instalment_cents(each, facts) <= instalment_cents), None
    )


def compute_instalment_cents(plan: PlanTerms, facts: ModalityFacts) -> int:
    """Return the plan's largest instalment, which is its first, in minor units."""
    return -(-facts.outstanding_cents // plan.count)


def _list_fitting(
    modalities: ModalitySettings,
    facts: ModalityFacts,
    counts: Iterable[int],
    today: date,
    first_on: date | None = None,
) -> list[PlanTerms]:
    assert modalities.plan is not None
    days = list(_list_first_dates(modalities.plan, today)) if first_on is None else [first_on]
    limit = compute_max_instalments(modalities.plan, facts)
    possible = [count for count in sorted(counts) if count <= limit]
    longest = PlanTerms(possible[-1], days[0]) if possible else None
    if longest is not None and not list_terms_faults(longest, modalities, facts, today):
        # Shorter plans end sooner and have larger instalments, so they are within the limits as
        # well.
        return [PlanTerms(count, days[0]) for count in possible]
    plans = (
        _find_plan_within_limits(modalities, facts=facts, count=count, days=days, today=today)
        for count in possible
    )
    return [plan for plan in plans if plan is not None]


def _find_plan_within_limits(
    modalities: ModalitySettings,
    facts: ModalityFacts,
    count: int,
    days: Sequence[date],
    today: date,
) -> PlanTerms | None:
    """Return the plan with `count` instalments that starts on the first of these days on which it
    is within the limits, or None."""
    for first_on in days:
        terms = PlanTerms(count, first_on)
        if not list_terms_faults(terms, modalities, facts, today):
            return terms
    return None


def _list_first_dates(plans: PlanSettings, today: date) -> Iterator[date]:
    """Yield the usual first date, and tomorrow for plans that would otherwise end too late."""
    furthest = timedelta(days=plans.first_date_within_days)
    yield today + min(_USUAL_FIRST_DATE, furthest)
    yield today + min(_TOMORROW, furthest)


def _list_deferrals(
    modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> Iterator[DeferralTerms]:
    """Yield the deferral by a week, a day in between, and the longest one. For less than ten days,
    yield half of the time and all of it."""
    if modalities.deferment is None:
        return
    first, last = compute_deferral_range(modalities.deferment, facts, today)
    if last < first:
        return
    if last < today + _WEEK + _MIN_GAP:
        sooner = [max(first, today + (last - today) // 2)]
    else:
        sooner = [today + _WEEK, *_list_days_between(today, last)]
    for until in dict.fromkeys((*sooner, last)):
        yield DeferralTerms(until)


def _list_days_between(today: date, last: date) -> list[date]:
    """Return the end of the month, by when most people have received their income, or two weeks
    from today. Return an empty list if both are too close to the other offered days."""
    soonest = today + _WEEK + _MIN_GAP
    month_end = soonest.replace(day=monthrange(soonest.year, soonest.month)[1])
    days = (month_end, today + 2 * _WEEK)
    return [day for day in days if day + _MIN_GAP <= last][:1]


def _pick_evenly(terms: list[PlanTerms], limit: int) -> list[PlanTerms]:
    """Pick the first, the last, and evenly spaced terms in between."""
    if len(terms) <= limit:
        return terms
    return [terms[index * (len(terms) - 1) // (limit - 1)] for index in range(limit)]


_ONE_DAY = timedelta(days=1)


def find_nearest_offer(
    refused: Sequence[Terms], modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> ModalityOffer | None:
    """Return the offer within the limits that is nearest to the terms refused last.

    `refused` starts with the newest and is not empty. Return None if the limits allow nothing that
    asks the merchant for less than all of `refused`.

        refused last    the nearest offer
        a plan          the most instalments below every refused number, from the same first day
                        (from the usual one if that day is past or no longer possible);
                        else the whole amount on the requested first day
        a deferral      the latest offered day before every refused day
    """
    newest = refused[0]
    if isinstance(newest, PlanTerms):
        terms = _find_nearest_plan(newest, refused, modalities, facts=facts, today=today)
    else:
        terms = _find_nearest_deferral(refused, modalities, facts, today)
    return None if terms is None else ModalityOffer(terms, terms.schedule(facts.outstanding_cents))


def build_terms(modality: Modality) -> Terms:
    """Return the terms that the debtor requested."""
    first_on = modality.schedule[0].due_on
    if modality.type is ModalityType.PAYMENT_PLAN:
        return PlanTerms(len(modality.schedule), first_on)
    return DeferralTerms(first_on)


def _find_nearest_plan(
    requested: PlanTerms, refused: Sequence[Terms], modalities: ModalitySettings,
    *, facts: ModalityFacts, today: date,
) -> Terms | None:  # fmt: skip
    refused_count = min(each.count for each in refused if isinstance(each, PlanTerms))
    for first_on in (requested.first_on, None):
        # A payment that is due today could not arrive in time.
        if first_on is not None and first_on <= today:
            continue
        plans = list_plans(modalities, facts, today, first_on)
        fewer = [each for each in plans if each.count < refused_count]
        if fewer:
            return fewer[-1]
    # The whole amount on the day of the first instalment, like a plan with one payment.
    terms = DeferralTerms(min(requested.first_on, _compute_last_day(refused)))
    return terms if _is_possible(terms, modalities, facts, today) else None


def _is_possible(
    terms: DeferralTerms, modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> bool:
    return facts.outstanding_cents > 0 and not list_terms_faults(terms, modalities, facts, today)


def _find_nearest_deferral(
    refused: Sequence[Terms], modalities: ModalitySettings, facts: ModalityFacts, today: date
) -> DeferralTerms | None:
    last_day = _compute_last_day(refused)
    days = list_offered_deferrals(modalities, facts, today)
    return next((each for each in reversed(days) if each.until <= last_day), None)


def _compute_last_day(refused: Sequence[Terms]) -> date:
    """Return the last day before every day to which a deferral was refused."""
    days = [each.until for each in refused if isinstance(each, DeferralTerms)]
    return min(days, default=date.max) - _ONE_DAY
