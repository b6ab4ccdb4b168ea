"""A dispute: its states (drawn in docs/states.md), their transitions, its limits, case number and
files. Pure."""

from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import DisputeSettings
from dunwell.cases.disputes.reasons import (
    BUILT_IN_REASONS,
    DisputeType,
    OfferedReason,
    list_offered_reasons,
    list_reasons,
)
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.text.shape import suggest_known
from dunwell.platform.text.texts import find_unprintable
from dunwell.platform.text.translation import LazyText

# Crockford's base32, which leaves out letters that are easily mistaken for another character.
_TO_CROCKFORD = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)
_NUMBER_BYTES = 5
_MAX_TEXT_LENGTH = 2_000
_MAX_NAME_LENGTH = 255
_MAX_ANSWERS = 20
# How many disputes debtors may open on one claim within the period, including withdrawn ones. A
# link alone does not identify a debtor, so the limit applies per claim.
MAX_RECENT_DISPUTES = 5
RECENT_PERIOD = timedelta(days=30)


class DisputeState(StrEnum):
    OPEN = "OPEN"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    # Withdrawn by the debtor.
    WITHDRAWN = "WITHDRAWN"


# State -> possible next states. Repeating the present final state changes nothing; any other change
# is refused.
TRANSITIONS: Mapping[DisputeState, frozenset[DisputeState]] = {
    DisputeState.OPEN: frozenset(
        {DisputeState.ACCEPTED, DisputeState.REJECTED, DisputeState.WITHDRAWN}
    ),
    DisputeState.ACCEPTED: frozenset(),
    DisputeState.REJECTED: frozenset(),
    DisputeState.WITHDRAWN: frozenset(),
}


@dataclass(frozen=True, slots=True)
class NewDispute:
    # The name of a reason.
    type: str
    message: str | None = None
    # Question -> answer.
    answers: Mapping[str, str] = field(default_factory=dict)


class ClaimDispute(msgspec.Struct, frozen=True, gc=False):
    dispute_id: UUID
    claim_id: int
    type: DisputeType
    # The name and the label of a reason that is no type of the API contract, as they were when the
    # dispute was opened.
    reason: str | None
    label: str | None
    message: str | None
    answers: Mapping[str, str]
    hold_id: UUID
    actor_kind: ActorKind
    opened_at: datetime
    state: DisputeState = DisputeState.OPEN
    # When the dispute was resolved or withdrawn.
    resolved_at: datetime | None = None
    # The merchant's response.
    resolution: str | None = None
    # True if accepting the dispute ended the claim; None unless it was accepted.
    ended_claim: bool | None = None
    # The debtor's session or the client id that opened the dispute.
    actor_id: str | None = None
    # When a channel accepted the message with the response.
    response_sent_at: datetime | None = None
    # When a claim that the dispute withheld became visible again.
    released_at: datetime | None = None

    @property
    def withholds_claim(self) -> bool:
        """True if the claim's page hides the claim because of this dispute."""
        return self.reason in BUILT_IN_REASONS and self.released_at is None

    @property
    def event_message(self) -> str | None:
        """The message in the event. By the specification (Events), only type OTHER has one."""
        if self.type is not DisputeType.OTHER:
            return None
        return self.label or self.message


def check_new_dispute(
    new: NewDispute, disputes: DisputeSettings, actor_kind: ActorKind
) -> OfferedReason:
    """Return the reason that the dispute names. Debtors choose among the offered reasons, others
    among all reasons.

    Raises ValidationError with every fault.
    """
    is_debtor = actor_kind is ActorKind.DEBTOR
    known = list_offered_reasons(disputes) if is_debtor else list_reasons(disputes)
    reason = next((each for each in known if each.name == new.type), None)
    faults = [*_list_text_faults(new), *list_reason_faults(new.type, new.message, known)]
    if faults or reason is None:
        raise ValidationError(faults)
    return reason


def list_reason_faults(
    type_: str, message: str | None, known: Iterable[OfferedReason]
) -> Iterator[Fault]:
    """Yield the faults of the reason and of the message that it requires.

    For a body that cannot be parsed as a whole, unreadable values are UNSET and yield no fault
    here.
    """
    names = [each.name for each in known]
    if type_ and type_ not in names:
        sentence = f"There is no such reason. {suggest_known(type_, names)}"
        yield Fault("/type", sentence, "NOT_ALLOWED")
    is_blank = message is None or (isinstance(message, str) and not message.strip())
    if type_ == DisputeType.OTHER and is_blank:
        sentence = '"message" is required for OTHER: describe what is disputed.'
        yield Fault("/message", sentence, "REQUIRED")


def find_open_dispute(reason: str, earlier: Sequence[ClaimDispute]) -> ClaimDispute | None:
    """Return the debtor's open dispute with this reason, or None."""
    debtors = (each for each in earlier if each.actor_kind is ActorKind.DEBTOR)
    return next(
        (
            each
            for each in debtors
            if each.state is DisputeState.OPEN and (each.reason or each.type) == reason
        ),
        None,
    )


def may_open_dispute(earlier: Sequence[ClaimDispute], now: datetime) -> bool:
    """Return whether a debtor may open one more dispute."""
    recent = [
        each
        for each in earlier
        if each.actor_kind is ActorKind.DEBTOR and each.opened_at > now - RECENT_PERIOD
    ]
    return len(recent) < MAX_RECENT_DISPUTES


def check_may_open(reason: OfferedReason, earlier: Sequence[ClaimDispute], now: datetime) -> None:
    """Check the limits for debtors: one open dispute per reason, and five disputes in thirty days.

    `earlier` has the claim's disputes that are open or were opened in that period. Raises
    InvalidState.
    """
    if find_open_dispute(reason.name, earlier) is not None:
        raise InvalidState(
            LazyText(
                "A dispute with the reason %(dispute_reason)s is already open.",
                dispute_reason=reason.name,
            ),
            state=str(DisputeState.OPEN),
        )
    if not may_open_dispute(earlier, now):
        raise InvalidState(
            LazyText(
                "%(count)s disputes were opened in %(days)s days: respond by phone or letter.",
                count=MAX_RECENT_DISPUTES,
                days=RECENT_PERIOD.days,
            ),
            state="TOO_MANY",
        )


def check_transition(dispute: ClaimDispute, new_state: DisputeState) -> bool:
    """Return whether the dispute's state changes. Raises InvalidState if the dispute ended
    differently."""
    if dispute.state is new_state:
        return False
    if new_state not in TRANSITIONS[dispute.state]:
        raise InvalidState(
            LazyText(
                "The dispute is already %(dispute_state)s. This is final.",
                dispute_state=dispute.state,
            ),
            state=str(dispute.state),
        )
    return True


def render_case_number(dispute_id: UUID) -> str:
    """Return the case number for phone calls and letters: two groups of four, such as 7K3M-9QXA.

    The number is derived from the id and not stored, so it cannot be searched for. It only has to
    distinguish the disputes of one claim, for which forty bits are enough.
    """
    characters = b32encode(sha256(dispute_id.bytes).digest()[:_NUMBER_BYTES]).decode()
    number = characters.translate(_TO_CROCKFORD)
    return f"{number[:4]}-{number[4:]}"


def compute_hold_end(
    answered_at: datetime, response_sent_at: datetime | None, quiet_days: int
) -> datetime:
    """Return the end of the hold on a claim that stays open after the response.

    The quiet days count from the time when a channel accepted the response. If the debtor cannot be
    reached or the delivery is unknown, they count from the response itself.
    """
    return (response_sent_at or answered_at) + timedelta(days=quiet_days)


def _list_text_faults(new: NewDispute) -> Iterator[Fault]:
    if len(new.message or "") > _MAX_TEXT_LENGTH:
        yield Fault("/message", f"Use at most {_MAX_TEXT_LENGTH} characters.", "TOO_LONG")
    yield from find_unprintable(new.message, ("message",))
    if len(new.answers) > _MAX_ANSWERS:
        yield Fault("/answers", f"Give at most {_MAX_ANSWERS} of these.", "TOO_MANY")
    lengths = ((len(name), len(text)) for name, text in new.answers.items())
    if any(name > _MAX_NAME_LENGTH or text > _MAX_TEXT_LENGTH for name, text in lengths):
        message = f"Use at most {_MAX_TEXT_LENGTH} characters for an answer."
        yield Fault("/answers", message, "TOO_LONG")
    yield from find_unprintable(dict(new.answers), ("answers",))


# The limits per upload, and per dispute including files that were added later.
MAX_FILES_AT_ONCE = 5
MAX_FILES = 20


class EvidenceFile(msgspec.Struct, frozen=True, gc=False):
    file_id: UUID
    # The file name as uploaded.
    name: str
    content_type: str
    size_bytes: int
    added_at: datetime
    storage_key: str


def check_file_count(present: int, added: int) -> None:
    """Check that the dispute may get `added` files more. Raises ValidationError if there would be
    too many."""
    if present + added > MAX_FILES:
        message = f"A dispute has at most {MAX_FILES} files; this one has {present}."
        raise ValidationError([Fault("/files", message, "TOO_MANY")])
