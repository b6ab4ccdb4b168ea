"""A claim's facts and a complete message, for tests of texts and channels."""

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from dunwell.contact.messages.templates.facts import (
    CreditorFacts,
    LandingFacts,
    MessageClaim,
    MessageFacts,
    MessageItem,
)
from dunwell.contact.sending.channel import Message
from dunwell.core.claims.fields import DebtorName

CLAIM = MessageClaim(
    claim_id=17,
    reference_number="R-1",
    currency="EUR",
    items=(
        MessageItem("PRIMARY", 123456, "RE-2026-1", date(2026, 1, 2), date(2026, 2, 1)),
        MessageItem("DUNNING_FEE", 250, item_date=date(2026, 3, 1)),
    ),
    total_cents=123706,
    outstanding_cents=100000,
    fees_cents=250,
    due_date=date(2026, 2, 1),
    customer_number="C-9",
)
CREDITOR = CreditorFacts(
    name="Nordwind",
    legal_name="Nordwind Schuhe GmbH",
    legal_address="Deichstraße 1\n20459 Hamburg",
    email="hilfe@nordwind.example",
    phone="+49 40 1234560",
    bank_iban="DE02120300000000202051",
    bank_holder="Nordwind",
)


def some_facts(**changes: Any) -> MessageFacts:
    """Return the usual facts. The arguments replace claim, debtor, creditor, landing and today."""
    usual: dict[str, Any] = {
        "claim": CLAIM,
        "debtor": DebtorName(first_name="Ada", last_name="Lovelace"),
        "creditor": CREDITOR,
        "today": date(2026, 3, 2),
        "landing": LandingFacts("https://pay.example/q/abc", domain="pay.example"),
    }
    return MessageFacts(**usual | changes)


def a_message(**changes: Any) -> Message:
    message = Message(
        communication_id=UUID("01900000-0000-7000-8000-000000000001"),
        merchant_id=1,
        claim_id=17,
        channel="EMAIL",
        recipient="ada@example.org",
        sender="claims@nordwind.example",
        sender_name="Nordwind Schuhe GmbH",
        reply_to="hilfe@nordwind.example",
        language="de",
        subject="Erinnerung R-1",
        body_text="Guten Tag,\n\nbitte zahlen Sie 10,00 €.\n",
        body_html="<p>Guten Tag,</p>\n<p>bitte zahlen Sie 10,00 €.</p>\n",
        created_at=datetime(2026, 3, 2, 9, 0, tzinfo=UTC),
    )
    return replace(message, **changes)
