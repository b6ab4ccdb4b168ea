"""The claim for which a message is previewed: a sample claim, or one of the merchant's.

The usual sample has one invoice, one fee, and a person with each kind of address. The other samples
are extreme cases for testing texts and layouts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.contact.escalation.schedule import StepFacts
from dunwell.contact.messages.contact import LeasedContact, PlannedContact
from dunwell.contact.messages.templates.facts import MessageClaim, MessageItem
from dunwell.core.claims.access import ClaimView
from dunwell.core.claims.balance import PRIMARY
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.claims.fields import DebtorName

# No contact has this id, so its link and code lead nowhere.
SAMPLE_ID = UUID(int=0)
# The samples: a usual claim; the longest names; as little data as possible; twelve items and an
# amount with many digits.
SampleCase = Literal["USUAL", "LONGEST", "BARE", "MANY_ITEMS"]
SAMPLE_CASES: tuple[SampleCase, ...] = get_args(SampleCase)
_NO_STEP, _NO_RUN = 0, 0


@dataclass(frozen=True, slots=True)
class SampleRecipient:
    """The recipient of a message: a claim, its debtor, and the debtor's addresses."""

    claim: MessageClaim
    debtor: DebtorName
    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    language: str | None = None

    def step_facts(self, today: date) -> StepFacts:
        """Return the facts for step conditions, as if each channel reached the debtor."""
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
        return StepFacts(condition, has_reached=True, usable_channels=CHANNELS)

    def plan(self, channel: Channel, contact_id: UUID = SAMPLE_ID) -> PlannedContact:
        """Build a planned contact. `contact_id` determines its link and codes."""
        contact = LeasedContact(
            communication_id=contact_id,
            claim_id=self.claim.claim_id,
            run=_NO_RUN,
            step_id=_NO_STEP,
            place=0,
            channel=channel,
            attempts=0,
            workflow_key=(SAMPLE_ID, 1),
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


def build_sample(currency: str, today: date, case: SampleCase = "USUAL") -> SampleRecipient:
    return _CASES[case](_build_usual(currency, today))


def _build_usual(currency: str, today: date) -> SampleRecipient:
    due = today - timedelta(days=28)
    items = (
        MessageItem(
            "PRIMARY",
            10240,
            reference="INV-2026-0815",
            item_date=due - timedelta(days=14),
            due_date=due,
        ),
        MessageItem("DUNNING_FEE", 250, item_date=today),
    )
    claim = MessageClaim(
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
    return SampleRecipient(
        claim=claim,
        debtor=debtor,
        email="erika@example.org",
        mobile_number="+4915112345678",
        address=address,
    )


def _build_longest(usual: SampleRecipient) -> SampleRecipient:
    """Return a sample with a person at a company. Both names fill whole lines, and so does the
    reference."""
    debtor = DebtorName(
        first_name="Maximiliane Friederike Wilhelmine",
        last_name="Freifrau von Schwarzenberg-Oberhohenstein zu Westerburg",
        company_name="Donaudampfschifffahrtsgesellschaft Oberösterreich und Niederbayern "
        "Beteiligungsverwaltungs GmbH & Co. Kommanditgesellschaft auf Aktien",
    )
    address = {
        "street": "Bürgermeister-Dr.-Johann-Nepomuk-Hinterhuber-Straße 117 a-c",
        "address_line2": "Hinterhaus, 3. Obergeschoss, Aufgang links",
        "postal_code": "67808",
        "city": "Schweix-Hohenöllen bei Kaiserslautern-Siegelbach",
        "country": "DE",
    }
    claim = replace(
        usual.claim,
        reference_number="RG-2026-0815/4711-NIEDERBAYERN-000000123",
        customer_number="K-000000000000123456789",
        contract_number="V-2026-000000000000123456789",
    )
    email = "maximiliane.freifrau.von.schwarzenberg-oberhohenstein@verwaltung.example.org"
    return replace(usual, claim=claim, debtor=debtor, email=email, address=address)


def _build_bare(usual: SampleRecipient) -> SampleRecipient:
    """Return a sample with only a last name and an invoice: no company, first name, number, due
    date or fee."""
    item = MessageItem("PRIMARY", 10240)
    claim = replace(
        usual.claim,
        items=(item,), total_cents=10240, outstanding_cents=10240, fees_cents=0,
        due_date=None, customer_number=None, contract_number=None,
    )  # fmt: skip
    address = {"street": "Heidestraße 17", "city": "Köln"}
    return replace(usual, claim=claim, debtor=DebtorName(last_name="Ng"), address=address)


def _build_many_items(usual: SampleRecipient) -> SampleRecipient:
    day = usual.claim.items[0].due_date
    items = tuple(
        MessageItem(
            "PRIMARY",
            10_240_001 * number,
            reference=f"INV-2026-{1000 + number}",
            item_date=day,
            due_date=day,
        )
        for number in range(1, 11)
    )
    items += (MessageItem("DUNNING_FEE", 1250), MessageItem("COLLECTION_FEE", 12500))
    total_cents = sum(item.value_cents for item in items)
    claim = replace(
        usual.claim,
        items=items, total_cents=total_cents, outstanding_cents=total_cents, fees_cents=13750,
    )  # fmt: skip
    return replace(usual, claim=claim)


_CASES: Mapping[SampleCase, Callable[[SampleRecipient], SampleRecipient]] = {
    "USUAL": lambda usual: usual,
    "LONGEST": _build_longest,
    "BARE": _build_bare,
    "MANY_ITEMS": _build_many_items,
}


def build_recipient(view: ClaimView) -> SampleRecipient:
    """Build the recipient from a stored claim."""
    debtor = view.debtor
    items = tuple(
        MessageItem(
            i.type,  # type: ignore[arg-type]
            i.value_cents,
            reference=i.reference,
            item_date=i.item_on,
            due_date=i.due_on,
        )
        for i in view.items
    )
    due_on = next((item.due_on for item in view.items if item.type == PRIMARY), None)
    fees_cents = sum(item.value_cents for item in view.items if item.type != PRIMARY)
    return SampleRecipient(
        claim=MessageClaim(
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
