"""The claim a message is shown for before it is sent: made up, or one of the merchant's.

What is made up is a claim as most are: one invoice, one fee, a person with every kind of address.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, get_args
from uuid import UUID

import msgspec

from dunwell.claims.balance import PRIMARY
from dunwell.claims.conditions import ConditionFacts
from dunwell.claims.fields import DebtorName
from dunwell.claims.read_claim import ClaimView
from dunwell.escalation.schedule import StepFacts
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

    def step_facts(self, today: date) -> StepFacts:
        """What steps ask of it, where every channel reaches it."""
        claim, address = self.claim, self.address or {}
        dated = (i.due_date or i.item_date for i in claim.items if i.type == PRIMARY)
        condition = ConditionFacts(
            outstanding_cents=claim.outstanding_cents,
            total_cents=claim.total_cents,
            today=today,
            first_primary_on=next(dated, None),
            item_types=frozenset(item.type for item in claim.items),
            language=self.language,
            country=address.get("country"),
            city=address.get("city"),
            postal_code=address.get("postal_code"),
            email=self.email,
            mobile_number=self.mobile_number,
            has_address=bool(address),
        )
        return StepFacts(condition, has_reached=True, usable_channels=get_args(Channel))

    def plan(self, channel: Channel) -> PlannedContact:
        contact = Contact(
            communication_id=NOBODYS_ID,
            claim_id=self.claim.claim_id,
            run=_NO_RUN,
            step_id=_NO_STEP,
            place=0,
            channel=channel,
            tries=0,
            process_key=(NOBODYS_ID, 1),
            reference_number=self.claim.reference_number,
            customer_number=self.claim.customer_number,
            email=self.email,
            mobile_number=self.mobile_number,
            address=self.address,
        )
        return PlannedContact(
            contact=contact,
            claim_version=0,
            language=self.language,
            claim=self.claim,
            debtor=self.debtor,
        )


def make_sample(currency: str, today: date) -> Reader:
    due = today - timedelta(days=28)
    items = (
        ItemFacts("PRIMARY", 10240, "INV-2026-0815", due - timedelta(days=14), due),
        ItemFacts("DUNNING_FEE", 250, item_date=today),
    )
    claim = ClaimFacts(
        claim_id=4711,
        reference_number="INV-2026-0815",
        currency=currency,
        items=items,
        total_cents=10490,
        outstanding_cents=10490,
        fees_cents=250,
        due_date=due,
        customer_number="C-100",
        contract_number="V-7",
    )
    address = {
        "street": "Heidestraße 17",
        "postal_code": "51147",
        "city": "Köln",
        "country": "DE",
    }
    debtor = DebtorName(first_name="Erika", last_name="Mustermann")
    return Reader(
        claim=claim,
        debtor=debtor,
        email="erika@example.org",
        mobile_number="+4915112345678",
        address=address,
    )


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
        claim=ClaimFacts(
            claim_id=view.claim_id,
            reference_number=view.reference_number,
            currency=view.currency,
            items=items,
            total_cents=view.balance.total_cents,
            outstanding_cents=view.balance.outstanding_cents,
            fees_cents=fees_cents,
            due_date=due_on,
            customer_number=debtor.customer_number,
            contract_number=debtor.contract_number,
        ),
        debtor=DebtorName(**{name: getattr(debtor, name) for name in DebtorName.__struct_fields__}),
        email=debtor.email,
        mobile_number=debtor.mobile_number,
        address=msgspec.structs.asdict(debtor.address) if debtor.address else None,
        language=debtor.language,
    )
