"""Mandates and collections as values, and the rules for them: accounts that can be debited, days,
sequence types, and the reasons of returns. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from dunwell.platform.banking_days import get_first_banking_day_from, subtract_banking_days

# The providerName of payments that were collected.
DIRECT_DEBIT: Final = "DIRECT_DEBIT"
# A mandate ends if it was not used for 36 months (SEPA core rulebook 4.1).
_UNUSED_MONTHS = 36
# The members of the European Economic Area. Debits elsewhere in SEPA need the debtor's address.
_COUNTRIES = frozenset({
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE",
    "IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK",
})  # fmt: skip
# How long after the day of the debit a plan waits for the result.
RESULT_WITHIN = timedelta(days=14)
_ONE_DAY = timedelta(days=1)
# How long before the due date of its instalment a debit is ordered from a provider.
_ORDER_LEAD = timedelta(days=14)


class SequenceType(StrEnum):
    FIRST = "FRST"
    RECURRENT = "RCUR"
    FINAL = "FNAL"
    ONE_OFF = "OOFF"


class MandateState(StrEnum):
    ACTIVE = "ACTIVE"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"


class MandateEndReason(StrEnum):
    """Why a mandate ended. REVOKED and RETURNED lead to MandateState.REVOKED, the others to
    EXPIRED."""

    # Revoked by the debtor, or by the merchant for the debtor.
    REVOKED = "REVOKED"
    # The bank returned a debit with a reason that holds for every further one.
    RETURNED = "RETURNED"
    UNUSED = "UNUSED"
    PLAN_ENDED = "PLAN_ENDED"
    # The provider's account that collects with the mandate was closed.
    ACCOUNT_CLOSED = "ACCOUNT_CLOSED"


class CollectionState(StrEnum):
    # The plan has the instalment; the debtor has not been notified yet.
    PLANNED = "PLANNED"
    PRENOTIFIED = "PRENOTIFIED"
    # A user has released the debit, but the bank does not have its file yet. Or the debit is to be
    # ordered from the provider.
    RELEASED = "RELEASED"
    # The bank or the provider has the order.
    DELIVERED = "DELIVERED"
    COLLECTED = "COLLECTED"
    RETURNED = "RETURNED"
    CANCELLED = "CANCELLED"


# State -> possible next states. A file can be rejected before the money is collected, and a debit
# can be returned for months afterwards. A provider can also cancel a debit, and can collect one
# again that was returned.
TRANSITIONS: Mapping[CollectionState, frozenset[CollectionState]] = {
    CollectionState.PLANNED: frozenset(
        {CollectionState.PRENOTIFIED, CollectionState.RELEASED, CollectionState.CANCELLED}
    ),
    CollectionState.PRENOTIFIED: frozenset({CollectionState.RELEASED, CollectionState.CANCELLED}),
    CollectionState.RELEASED: frozenset({CollectionState.DELIVERED, CollectionState.CANCELLED}),
    CollectionState.DELIVERED: frozenset(
        {CollectionState.COLLECTED, CollectionState.RETURNED, CollectionState.CANCELLED}
    ),
    CollectionState.COLLECTED: frozenset({CollectionState.RETURNED}),
    CollectionState.RETURNED: frozenset({CollectionState.COLLECTED}),
    CollectionState.CANCELLED: frozenset(),
}


class CancelReason(StrEnum):
    """Why an instalment is not collected."""

    MANDATE_ENDED = "MANDATE_ENDED"
    PLAN_ENDED = "PLAN_ENDED"
    PAID = "PAID"
    # No channel reached the debtor with the pre-notification, or too late.
    NOT_NOTIFIED = "NOT_NOTIFIED"
    # The debit was not released in time for the bank.
    NOT_RELEASED = "NOT_RELEASED"
    DISPUTED = "DISPUTED"
    # By a user.
    HELD_BACK = "HELD_BACK"


class DebitAccount(msgspec.Struct, frozen=True, gc=False):
    """The debtor's account, as it is stored encrypted."""

    holder: str
    iban: str
    bic: str | None = None

    @property
    def masked(self) -> str:
        """The account as messages show it: country and last four digits."""
        return f"{self.iban[:2]} •••• {self.iban[-4:]}"


@dataclass(frozen=True, slots=True)
class Mandate:
    mandate_id: UUID
    claim_id: int
    # The payment plan for which the mandate was given.
    modality_id: UUID
    # The creditor identifier; for a mandate at a provider, the name of the provider's account.
    creditor_id: str
    # The unique mandate reference.
    reference: str
    # None for a mandate at a provider.
    account_sealed: bytes | None
    # The account as messages show it.
    account_shown: str
    # What the debtor read and accepted (empty for a mandate at a provider), and its language.
    text: str
    language: str
    # The merchant's time.
    signed_at: datetime
    signed_on: date
    # Who signed; for a debtor, the session of the claim's page.
    actor_kind: str
    actor_id: str | None
    state: MandateState
    # The day after which the mandate ends if it is not used.
    expires_on: date
    ended_at: datetime | None = None
    ended_reason: MandateEndReason | None = None
    # The provider's account at which the mandate was given, and the kind of provider. None: the
    # bank collects.
    provider: str | None = None
    provider_name: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """The collection of one instalment."""

    collection_id: UUID
    mandate_id: UUID
    claim_id: int
    modality_id: UUID
    instalment: int
    # The instalment's due date.
    due_on: date
    # The day on which the account is debited.
    collected_on: date
    amount_cents: int
    currency: str
    state: CollectionState
    end_to_end_id: str
    sequence_type: SequenceType | None = None
    file_id: UUID | None = None
    batch_id: str | None = None
    payment_id: UUID | None = None
    # The bank's code, or the provider's own.
    return_reason: str | None = None
    cancel_reason: CancelReason | None = None
    notified_at: datetime | None = None
    # The provider's account that collects the instalment. None: the bank collects it.
    provider: str | None = None


def is_debit_country(iban: str) -> bool:
    """Return whether accounts of the IBAN's country can be debited without an address."""
    return iban[:2].upper() in _COUNTRIES


def build_reference(claim_id: int, modality_id: UUID, number: int) -> str:
    """Return the mandate reference: the claim's id, digits of the plan's id, and the number of the
    mandate in its plan. It is known before the mandate is signed."""
    return f"{claim_id}-{modality_id.hex[-8:].upper()}-{number}"


def build_end_to_end_id(collection_id: UUID) -> str:
    return collection_id.hex.upper()


def compute_expiry(used_on: date) -> date:
    """Return the last day on which a mandate can be used that was last used, or signed, on
    `used_on`."""
    year = used_on.year + _UNUSED_MONTHS // 12
    is_leap_day = (used_on.month, used_on.day) == (2, 29)
    return date(year, 2, 28) if is_leap_day else used_on.replace(year=year)


def compute_collection_day(due_on: date, notified_on: date, notice_days: int) -> date:
    """Return the banking day on which an instalment is collected: its due date or, if that leaves
    the debtor too little notice, the first banking day that leaves enough."""
    return get_first_banking_day_from(max(due_on, notified_on + timedelta(days=notice_days)))


def compute_notice_day(due_on: date, notice_days: int) -> date:
    """Return the day on which the debtor is notified: one day earlier than promised, for a message
    that is not sent at once."""
    return due_on - timedelta(days=notice_days) - _ONE_DAY


def compute_order_day(due_on: date) -> date:
    """Return the day on which a debit is ordered from a provider, which notifies the debtor."""
    return due_on - _ORDER_LEAD


def compute_last_release_day(collected_on: date, lead_days: int) -> date:
    """Return the last day on which the debit can be released and its file delivered. `lead_days`
    are banking days."""
    return subtract_banking_days(collected_on, lead_days)


def decide_sequence_type(*, was_used: bool, is_last: bool) -> SequenceType:
    """Return the sequence type of a debit. `was_used` is true if an earlier debit of the mandate
    was not rejected before its settlement, and `is_last` if no further debit follows."""
    if was_used:
        return SequenceType.FINAL if is_last else SequenceType.RECURRENT
    return SequenceType.ONE_OFF if is_last else SequenceType.FIRST


# The reasons for which banks return or reject debits (ISO external codes, EPC 173-14).
_RETURN_REASONS = frozenset({
    "AC01", "AC04", "AC06", "AC13", "AG01", "AG02", "AM01", "AM02", "AM03", "AM04", "AM05",
    "AM09", "BE01", "BE05", "BE06", "BE07", "CNOR", "CURR", "DNOR", "DT01", "ED05", "FF01",
    "FF05", "FOCR", "MD01", "MD02", "MD05", "MD06", "MD07", "MS02", "MS03", "NARR", "RC01",
    "RR01", "RR02", "RR03", "RR04", "SL01", "SL11", "SL12", "SL13", "SL14", "TM01", "UPAY",
})  # fmt: skip
# The code that stands for a reason given in words.
NARRATIVE_REASON: Final = "NARR"
# Reasons that hold for every further debit of the mandate.
_FINAL_REASONS = frozenset({
    "AC01", "AC04", "AC06", "AC13", "AG01", "MD01", "MD02", "MD07", "MS02", "RR01", "SL01",
    "SL11", "SL12",
})  # fmt: skip


def is_return_reason(code: str | None) -> bool:
    """Return whether the code is one for which a bank returns a debit. A file of returns may also
    contain successes (0000)."""
    return code in _RETURN_REASONS


def is_final_reason(code: str) -> bool:
    """Return whether further debits of the mandate would be returned as well."""
    return code in _FINAL_REASONS
