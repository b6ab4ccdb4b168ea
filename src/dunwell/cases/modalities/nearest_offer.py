"""What a debtor can ask for instead of what the merchant refused.

The merchant has refused terms within its own bounds, so the nearest terms within the bounds would
be the refused ones again. An offer therefore asks the merchant for less than everything it has
refused: fewer instalments, or a shorter deferral. Pure.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from dunwell.accounts.merchants.configuration import Modalities
from dunwell.cases.modalities.bounds import (
    ClaimFacts,
    DefermentTerms,
    PlanTerms,
    Terms,
    find_terms_faults,
)
from dunwell.cases.modalities.modality import Modality, ModalityType
from dunwell.cases.modalities.offers import Offer, list_offered_deferments, list_plans

_ONE_DAY = timedelta(days=1)


def find_nearest_offer(
    refused: Sequence[Terms], modalities: Modalities, facts: ClaimFacts, today: date
) -> Offer | None:
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
        terms = _find_plan(newest, refused, modalities, facts=facts, today=today)
    else:
        terms = _find_deferment(refused, modalities, facts, today)
    return None if terms is None else Offer(terms, terms.schedule(facts.outstanding_cents))


def get_terms(modality: Modality) -> Terms:
    """Return what was asked for, as the debtor chose it."""
    first_on = modality.schedule[0].due_on
    if modality.type is ModalityType.PAYMENT_PLAN:
        return PlanTerms(len(modality.schedule), first_on)
    return DefermentTerms(first_on)


def _find_plan(
    asked: PlanTerms, refused: Sequence[Terms], modalities: Modalities,
    *, facts: ClaimFacts, today: date,
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
    terms = DefermentTerms(min(asked.first_on, _find_last_day(refused)))
    return terms if _is_possible(terms, modalities, facts, today) else None


def _is_possible(
    terms: DefermentTerms, modalities: Modalities, facts: ClaimFacts, today: date
) -> bool:
    return facts.outstanding_cents > 0 and not find_terms_faults(terms, modalities, facts, today)


def _find_deferment(
    refused: Sequence[Terms], modalities: Modalities, facts: ClaimFacts, today: date
) -> DefermentTerms | None:
    last_day = _find_last_day(refused)
    days = list_offered_deferments(modalities, facts, today)
    return next((each for each in reversed(days) if each.until <= last_day), None)


def _find_last_day(refused: Sequence[Terms]) -> date:
    """The last day before every day to which a deferral was refused."""
    days = [each.until for each in refused if isinstance(each, DefermentTerms)]
    return min(days, default=date.max) - _ONE_DAY
