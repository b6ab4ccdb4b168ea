"""What the pages offer to whoever disputes a claim: the reasons, the undisputed part."""

from collections.abc import Sequence

from dunwell.accounts.merchants.configuration import Configuration, Disputes
from dunwell.cases.disputes.dispute import Dispute
from dunwell.cases.disputes.reasons import (
    PERSON_DIED,
    WRONG_PERSON,
    DisputeType,
    Reason,
    list_offered,
)
from dunwell.core.claims.states import ACTIVE
from dunwell.interfaces.landing.paying.choosing import find_options
from dunwell.interfaces.landing.session.facts import ClaimFacts, DisputeFacts
from dunwell.interfaces.landing.session.session import Level

# Before the reason's name, of a draft.
SUBJECT = "dispute:"
# What can be said without having seen what the claim is for (PAGES, personal data).
_AT_LINK: tuple[str, ...] = (
    WRONG_PERSON,
    DisputeType.NOT_MY_DEBT,
    PERSON_DIED,
    DisputeType.IDENTITY_THEFT,
    DisputeType.DEBTOR_ALREADY_PAID,
    DisputeType.OTHER,
)


def can_dispute(facts: ClaimFacts) -> bool:
    return facts.status in ACTIVE and facts.withheld is None


def list_reasons_for(disputes: Disputes, level: Level) -> list[Reason]:
    """Those offered at this level; at LINK whoever is not meant comes first."""
    offered = list_offered(disputes)
    if level.reaches(Level.FACT):
        return offered
    by_name = {each.name: each for each in offered}
    return [by_name[name] for name in _AT_LINK if name in by_name]


def needs_fact(reason: Reason) -> bool:
    return reason.name not in _AT_LINK


def list_unsent(subjects: Sequence[str], disputes: Disputes, level: Level) -> list[str]:
    """By the drafts' subjects, the reasons of which something was typed that this level may see."""
    found = [find_reason(disputes, each.removeprefix(SUBJECT)) for each in subjects]
    reasons = [each for each in found if each is not None]
    return [each.name for each in reasons if not needs_fact(each) or level.reaches(Level.FACT)]


def find_reason(disputes: Disputes, name: str) -> Reason | None:
    return next((each for each in list_offered(disputes) if each.name == name), None)


def find_undisputed_cents(
    dispute: Dispute | DisputeFacts, facts: ClaimFacts, configuration: Configuration
) -> int | None:
    """The part that whoever says that the amount is wrong agrees with, if it can be paid alone."""
    agreed = dispute.answers.get("amount")
    if dispute.type is not DisputeType.AMOUNT_WRONG or agreed is None:
        return None
    options = find_options(facts, configuration.payment.partial, shows_items=False)
    if options.bounds is None:
        return None
    is_payable = options.bounds.least_cents <= int(agreed) < facts.outstanding_cents
    return int(agreed) if is_payable else None
