"""The claim a message is shown for before it is sent: made up, or one of the merchant's.

What is made up is a claim as most are: one invoice, one fee, a person with every kind of address.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.claims.balance import PRIMARY
from dunwell.claims.fields import DebtorName
from dunwell.claims.read_claim import ClaimView
from dunwell.merchants.configuration import Channel
from dunwell.messages.contact import Contact, PlannedContact
from dunwell.messages.facts import ClaimFacts, ItemFacts

# Its link and its code lead nowhere: no contact has this id.
NOBODYS_ID = UUID(int=0)
_NO_STEP, _NO_RUN = 0, 0


@dataclass(frozen=True, slots=True)
class Reader:
    """Whom the message is for: a claim, its debtor, and how the debtor is reached."""

    claim: ClaimFacts
    debtor: DebtorName
    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    language: str | None = None

    def plan(self, channel: Channel) -> PlannedContact:
        contact = Contact(
            NOBODYS_ID, self.claim.claim_id, _NO_RUN, _NO_STEP, 0, channel, 0, (NOBODYS_ID, 1),
            self.claim.reference_number, self.claim.customer_number,
            self.email, self.mobile_number, self.address,
        )  # fmt: skip
        return PlannedContact(contact, 0, self.language, self.claim, self.debtor)


def make_sample(currency: str, today: date) -> Reader:
    due = today - timedelta(days=28)
    items = (
        ItemFacts("PRIMARY", 10240, "INV-2026-0815", due - timedelta(days=14), due),
        ItemFacts("DUNNING_FEE", 250, item_date=today),
    )
    claim = ClaimFacts(
        4711, "INV-2026-0815", currency, items, 10490, 10490, 250, due, "C-100", "V-7"
    )
    address = {
        "street": "Heidestraße 17", "postal_code": "51147", "city": "Köln", "country": "DE",
    }  # fmt: skip
    debtor = DebtorName(first_name="Erika", last_name="Mustermann")
    return Reader(claim, debtor, "erika@example.org", "+4915112345678", address)


def read_reader(view: ClaimView) -> Reader:
    """A claim as it stands."""
    debtor = view.debtor
    items = tuple(
        ItemFacts(i.type, i.value_cents, i.reference, i.item_on, i.due_on)  # type: ignore[arg-type]
        for i in view.items
    )
    due_on = next((item.due_on for item in view.items if item.type == PRIMARY), None)
    fees_cents = sum(item.value_cents for item in view.items if item.type != PRIMARY)
    return Reader(
        ClaimFacts(
            view.claim_id, view.reference_number, view.currency, items,
            view.balance.total_cents, view.balance.outstanding_cents, fees_cents, due_on,
            debtor.customer_number, debtor.contract_number,
        ),
        DebtorName(**{name: getattr(debtor, name) for name in DebtorName.__struct_fields__}),
        debtor.email, debtor.mobile_number,
        msgspec.structs.asdict(debtor.address) if debtor.address else None,
        debtor.language,
    )  # fmt: skip
