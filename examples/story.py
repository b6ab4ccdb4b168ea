"""The demo's story: who the debtors are, what has happened so far, and whether all of it did."""

from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Europe/Berlin")

# By the references in claims.json. Two pay; the last is handed over last and stays open.
PAYS_BY_TRANSFER = "TK-2026-1001"
PAYS_ON_PAGE = "TK-2026-1002"
STAYS_OPEN = "TK-2026-1007"
# How each is reached, step by step: what is missing is made up for by a fallback.
CHANNELS = {
    PAYS_BY_TRANSFER: ["EMAIL", "SMS"],
    PAYS_ON_PAGE: ["EMAIL"],
    # A company without a mobile number.
    "TK-2026-1003": ["EMAIL", "EMAIL", "LETTER"],
    # Without an e-mail address.
    "TK-2026-1004": ["SMS", "SMS", "LETTER"],
    # To be reached by letter only.
    "TK-2026-1005": ["LETTER", "LETTER", "LETTER"],
    "TK-2026-1006": ["EMAIL", "SMS", "LETTER"],
    STAYS_OPEN: ["EMAIL"],
}
_BEGUN = ["CHECKPOINT_REACHED"]
_WHOLE = [*_BEGUN, *["ESCALATED"] * 3, "FEE_ADDED", "CHECKPOINT_REACHED", "ARCHIVED"]
_PAID = ["DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]
# What is told of each, and where it ends.
TYPES = {
    PAYS_BY_TRANSFER: [*_BEGUN, "ESCALATED", "ESCALATED"],
    PAYS_ON_PAGE: [*_BEGUN, "ESCALATED", *_PAID],
    STAYS_OPEN: [*_BEGUN, "ESCALATED"],
}
STATUSES = {
    PAYS_BY_TRANSFER: "COLLECTED", PAYS_ON_PAGE: "COLLECTED", STAYS_OPEN: "IN_PROCESS",
}  # fmt: skip

Event = dict[str, Any]
# Of an event that somebody asked for to try an endpoint.
_TEST = "TEST"


class StoryBroken(Exception):  # noqa: N818 - reads as what happened
    """A part of the story did not happen; the message names it."""


@dataclass
class Story:
    """What has happened so far."""

    # Behind the references: on a later demo they are used up, and numbered.
    suffix: str = ""
    # Claim id -> reference without the suffix.
    claims: dict[int, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    # Of those, what nobody has been told yet.
    news: list[Event] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    # The bank transfer, which no event tells of.
    is_transferred: bool = False

    def take(self, event: Event) -> None:
        """A webhook's event; one of an earlier demo's claim is no news."""
        self.events.append(event)
        told = {_TEST, *(each + self.suffix for each in CHANNELS)}
        if event["claim"]["referenceNumber"] in told:
            self.news.append(event)

    def take_news(self) -> list[Event]:
        """In the order in which it happened; webhooks may overtake each other."""
        news, self.news = self.news, []
        return sorted(news, key=_order)

    def claim_id(self, reference: str) -> int:
        return next(claim_id for claim_id, each in self.claims.items() if each == reference)

    def events_of(self, reference: str) -> list[Event]:
        """In the order in which they happened."""
        claim_id = self.claim_id(reference)
        told = [event for event in self.events if event["claim"]["id"] == claim_id]
        return sorted(told, key=_order)

    def channels_of(self, reference: str) -> list[str]:
        """The channels the debtor was reached by, in turn."""
        told = self.events_of(reference)
        return [e["claim"]["communication"]["channel"] for e in told if e["type"] == "ESCALATED"]

    def was_archived(self, reference: str) -> bool:
        return any(event["type"] == "ARCHIVED" for event in self.events_of(reference))

    def was_paid_on_page(self) -> bool:
        types = {event["type"] for event in self.events_of(PAYS_ON_PAGE)}
        return types >= set(_PAID)


def _order(event: Event) -> tuple[str, int, int]:
    """By instant and claim; of one instant by the steps' ids, and as payments go."""
    place = _PAID.index(event["type"]) if event["type"] in _PAID else 0
    step = event.get("actionStep", {}).get("id", place)
    return event["date"], event["claim"]["id"], step


def find_faults(story: Story, statuses: dict[str, str]) -> list[str]:
    """Every part of the story that did not happen; `statuses` as the API answers them."""
    faults = [f"a webhook was refused: {reason}" for reason in story.refused]
    handed_over = story.claims.values()
    faults += [f"{each} was not handed over" for each in CHANNELS if each not in handed_over]
    for reference in handed_over:
        told = sorted(event["type"] for event in story.events_of(reference))
        wanted = sorted(TYPES.get(reference, _WHOLE))
        if told != wanted:
            faults.append(f"{reference}: told {told}, not {wanted}")
        channels = story.channels_of(reference)
        if channels != CHANNELS[reference]:
            faults.append(f"{reference}: reached by {channels}, not {CHANNELS[reference]}")
        status = STATUSES.get(reference, "ARCHIVED")
        if statuses[reference] != status:
            faults.append(f"{reference}: {statuses[reference]}, not {status}")
    if PAYS_ON_PAGE in handed_over:
        faults += _find_payment_faults(story)
    return faults


def _find_payment_faults(story: Story) -> list[str]:
    """The three events of the payment on the page belong together."""
    claims = {event["type"]: event["claim"] for event in story.events_of(PAYS_ON_PAGE)}
    if not claims.keys() >= set(_PAID):
        return []  # told above
    details, begun, done = (claims[each] for each in _PAID)
    names = ("paymentRequestId", "amount", "currency", "providerName")
    faults = [
        f"{name} is another when the payment is completed"
        for name in names
        if begun["payment"][name] != done["payment"][name]
    ]
    if details["details"].get("communicationType") != "EMAIL":
        faults.append("the page was not opened from the e-mail")
    return faults


def render_money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"


def say(line: str) -> None:
    print(line, flush=True)
