"""The demo's claims, what has happened to them so far, and what should have happened."""

from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Berlin")

# References from claims.json. The first two are paid; the debit of the third is returned. The last
# one is created last and stays open.
PAYS_BY_TRANSFER = "TK-2026-1001"
PAYS_ON_PAGE = "TK-2026-1002"
PAYS_BY_DEBIT = "TK-2026-1007"
STAYS_OPEN = "TK-2026-1008"
# The channels of each claim's contacts in order. A fallback replaces a channel without an address.
CHANNELS = {
    PAYS_BY_TRANSFER: ["EMAIL", "SMS"],
    PAYS_ON_PAGE: ["EMAIL"],
    # The debtor is a company without a mobile number.
    "TK-2026-1003": ["EMAIL", "EMAIL", "LETTER"],
    # The debtor has no e-mail address.
    "TK-2026-1004": ["SMS", "SMS", "LETTER"],
    # The debtor can be contacted by letter only.
    "TK-2026-1005": ["LETTER", "LETTER", "LETTER"],
    "TK-2026-1006": ["EMAIL", "SMS", "LETTER"],
    PAYS_BY_DEBIT: ["EMAIL", "SMS", "LETTER"],
    STAYS_OPEN: ["EMAIL"],
}
_FIRST = ["CHECKPOINT_REACHED"]
_WHOLE = [*_FIRST, *["ESCALATED"] * 3, "FEE_ADDED", "CHECKPOINT_REACHED", "ARCHIVED"]
_PAID = ["DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]
# Events without a number, which an endpoint receives only if the merchant file names them.
_ADDITIONS = ["MANDATE_CHANGED", "PAYMENT_REVERSED"]
_DEBITED = [
    "DETAILS_ACCESSED", *["PAYMENT_MODALITY_STATE_CHANGE"] * 2, "PAYMENT_COMPLETED",
    "PAYMENT_REVERSED", *["MANDATE_CHANGED"] * 2,
]  # fmt: skip
# The expected events of each claim; _WHOLE for all others.
TYPES = {
    PAYS_BY_TRANSFER: [*_FIRST, "ESCALATED", "ESCALATED"],
    PAYS_ON_PAGE: [*_FIRST, "ESCALATED", *_PAID],
    PAYS_BY_DEBIT: [*_WHOLE, *_DEBITED],
    STAYS_OPEN: [*_FIRST, "ESCALATED"],
}
STATUSES = {
    PAYS_BY_TRANSFER: "COLLECTED", PAYS_ON_PAGE: "COLLECTED", STAYS_OPEN: "IN_PROCESS",
}  # fmt: skip

Event = dict[str, Any]
# The order of a claim's events at the same time. A plan has two: it is requested, then approved.
_ORDER = [
    *_PAID, "PAYMENT_REVERSED", "", "PAYMENT_MODALITY_STATE_CHANGE", "MANDATE_CHANGED",
]  # fmt: skip
# The type of an event that was sent to test an endpoint.
_TEST = "TEST"


class DemoFailed(Exception):  # noqa: N818 - names what happened
    """Something that should happen in the demo did not. The message names it."""


@dataclass
class DemoProgress:
    """What has happened so far in this demo."""

    # Appended to the references when an earlier demo on the same data has used them.
    suffix: str = ""
    # Maps claim ids to references without the suffix.
    claims: dict[int, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    # Events of this demo that are not printed yet.
    new_events: list[Event] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    # Whether the bank transfer was recorded, for which there is no event.
    is_transferred: bool = False

    def record_event(self, event: Event) -> None:
        """Record an event of a webhook. Events of an earlier demo's claims are not printed."""
        self.events.append(event)
        references = {_TEST, *(each + self.suffix for each in CHANNELS)}
        if event["claim"]["referenceNumber"] in references:
            self.new_events.append(event)

    def count_numbered(self) -> int:
        """Return how many events have arrived that the API counts."""
        return sum(event["type"] not in _ADDITIONS for event in self.events)

    def pop_new_events(self) -> list[Event]:
        """Return the events that are not printed yet in order. Webhooks can overtake each other."""
        events, self.new_events = self.new_events, []
        return sorted(events, key=_sort_key)

    def claim_id(self, reference: str) -> int:
        return next(claim_id for claim_id, each in self.claims.items() if each == reference)

    def list_events(self, reference: str) -> list[Event]:
        """Return the events of a claim in the order in which they happened."""
        claim_id = self.claim_id(reference)
        events = [event for event in self.events if event["claim"]["id"] == claim_id]
        return sorted(events, key=_sort_key)

    def list_channels(self, reference: str) -> list[str]:
        """Return the channels on which the debtor was contacted, in order."""
        events = self.list_events(reference)
        return [e["claim"]["communication"]["channel"] for e in events if e["type"] == "ESCALATED"]

    def was_archived(self, reference: str) -> bool:
        return any(event["type"] == "ARCHIVED" for event in self.list_events(reference))

    def was_paid_on_page(self) -> bool:
        types = {event["type"] for event in self.list_events(PAYS_ON_PAGE)}
        return types >= set(_PAID)


def _sort_key(event: Event) -> tuple[str, int, int]:
    """Return a key that sorts events by time and claim. A claim's events of the same time are in
    the order of its steps, of a payment, or of a plan and its mandate."""
    place = _ORDER.index(event["type"]) if event["type"] in _ORDER else 0
    if event["claim"].get("paymentModality", {}).get("state") == "REQUESTED":
        place -= 1
    step = event.get("actionStep", {}).get("id", place)
    return event["date"], event["claim"]["id"], step


def list_faults(progress: DemoProgress, statuses: dict[str, str]) -> list[str]:
    """Describe everything that should have happened and did not.

    `statuses` maps references to the statuses that the API returns.
    """
    faults = [f"a webhook was refused: {reason}" for reason in progress.refused]
    handed_over = progress.claims.values()
    faults += [f"{each} was not handed over" for each in CHANNELS if each not in handed_over]
    for reference in handed_over:
        events = sorted(event["type"] for event in progress.list_events(reference))
        wanted = sorted(TYPES.get(reference, _WHOLE))
        if events != wanted:
            faults.append(f"{reference}: events {events}, not {wanted}")
        channels = progress.list_channels(reference)
        if channels != CHANNELS[reference]:
            faults.append(f"{reference}: reached by {channels}, not {CHANNELS[reference]}")
        status = STATUSES.get(reference, "ARCHIVED")
        if statuses[reference] != status:
            faults.append(f"{reference}: {statuses[reference]}, not {status}")
    if PAYS_ON_PAGE in handed_over:
        faults += _list_payment_faults(progress)
    return faults


def _list_payment_faults(progress: DemoProgress) -> list[str]:
    """Describe differences between the three events of the payment on the page."""
    claims = {event["type"]: event["claim"] for event in progress.list_events(PAYS_ON_PAGE)}
    if not claims.keys() >= set(_PAID):
        return []  # list_faults names the missing events.
    details, started, completed = (claims[each] for each in _PAID)
    names = ("paymentRequestId", "amount", "currency", "providerName")
    faults = [
        f"{name} has changed when the payment is completed"
        for name in names
        if started["payment"][name] != completed["payment"][name]
    ]
    if details["details"].get("communicationType") != "EMAIL":
        faults.append("the page was not opened from the e-mail")
    return faults


def render_money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"


def print_line(line: str) -> None:
    print(line, flush=True)
