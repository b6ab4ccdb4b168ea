"""The usual merchants: Nordwind sells shoes, Hansen sells tea. Neither may see the other's data."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import (
    BankAccount,
    ChannelSetup,
    Configuration,
    LegalDetails,
    MerchantContact,
    PaymentSettings,
    PrivacyNotice,
    Retention,
)
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.platform.database.database import Connection

AT_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PRIVACY = PrivacyNotice(
    authority="Datenschutzbehörde Hamburg, Ludwig-Erhard-Str. 22, 20459 Hamburg",
    basis=("CONTRACT", "LEGITIMATE_INTEREST"),
    retention=Retention(3, 8),
    officer="datenschutz@nordwind.example",
)
CONFIGURATION = Configuration(
    language="de",
    timezone="Europe/Berlin",
    currency="EUR",
    legal=LegalDetails(
        name="Nordwind Schuhe GmbH",
        address="Deichstraße 1\n20459 Hamburg",
        register="Amtsgericht Hamburg, HRB 112233",
        representatives=("Ina Brandt",),
    ),
    privacy=PRIVACY,
    contact=MerchantContact(email="hilfe@nordwind.example", phone="+49 40 1234560"),
    payment=PaymentSettings(
        bank_account=BankAccount(iban="DE02120300000000202051", holder="Nordwind")
    ),
    channels={"EMAIL": ChannelSetup(adapter="outbox", sender="claims@nordwind.example")},
)

_INSERT = """
INSERT INTO merchants
    (key, name, sandbox, switched_to_workflows, configuration, sandbox_now, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING merchant_id
"""


async def a_merchant(
    tx: Connection, key: str = "nordwind", *, now: datetime, **given: Any
) -> Merchant:
    """Store a merchant. `given` may hold configuration, sandbox (False) and switched_to_workflows
    (True)."""
    configuration = given.get("configuration", CONFIGURATION)
    sandbox, switched = given.get("sandbox", False), given.get("switched_to_workflows", True)
    sandbox_now = now if sandbox else None
    merchant_id = await tx.fetchval(
        _INSERT, key, key.capitalize(), sandbox, switched,
        msgspec.to_builtins(configuration), sandbox_now, now,
    )  # fmt: skip
    return Merchant(merchant_id, key, key.capitalize(), switched, 1, configuration, sandbox_now)
