"""The whole web application on a real socket, with one merchant's claims in every state."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

import msgspec
import uvicorn

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from dunwell.merchants.configuration import (
    BankAccount,
    Brand,
    ChannelSetup,
    Configuration,
    Deferments,
    LandingPage,
    Legal,
    Logo,
    Modalities,
    PartialPayments,
    Payment,
    PaymentMethod,
    Plans,
)
from dunwell.wiring import build_web
from tests.support.landing import Doorstep
from tests.support.payments import PAYING, a_till

_LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 220 48" width="220" height="48">
<path d="M4 34c10-2 12-22 24-22 8 0 10 8 20 8-6 10-18 18-34 18-4 0-8-1-10-4z" fill="#0b5d57"/>
<text x="62" y="33" font-family="sans-serif" font-size="25" font-weight="700"
 fill="#12332f">Nordwind</text>
</svg>"""
CONFIGURATION = msgspec.structs.replace(
    PAYING,
    legal=Legal(
        name="Nordwind Schuhe GmbH",
        address="Deichstraße 1\n20459 Hamburg",
        register="HRB 112233, Amtsgericht Hamburg",
        vat_id="DE123456789",
    ),
    brand=Brand(Logo("image/svg+xml", _LOGO), "#0b5d57"),
)
# Everything a merchant can offer; its text messages' links ask for a known fact.
OFFERING_ALL = msgspec.structs.replace(
    CONFIGURATION,
    payment=Payment(
        bank_account=BankAccount(
            iban="DE02120300000000202051", holder="Nordwind Schuhe GmbH", bic="BYLADEM1001"
        ),
        methods=(PaymentMethod("sandbox"),),
        partial=PartialPayments(min_cents=500, items=True),
    ),
    modalities=Modalities(
        Plans(min_rate_cents=2000, auto_approve=True), Deferments(max_days=42, auto_approve=True)
    ),
    channels={
        "EMAIL": ChannelSetup("outbox", "claims@nordwind.example"),
        "SMS": ChannelSetup("outbox", "Nordwind"),
    },
    landing_page=LandingPage(verification={"SMS": ("POSTAL_CODE",)}),
)
_FEES = [
    {"reference": "RE-2026-0815", "type": "PRIMARY", "value": "128640",
     "itemDate": "2026-01-10", "dueDate": "2026-02-10"},
    {"reference": "Mahnung 1", "type": "DUNNING_FEE", "value": "250", "itemDate": "2026-02-24"},
    {"reference": "Vergütung", "type": "COLLECTION_FEE", "value": "4900",
     "itemDate": "2026-03-01"},
]  # fmt: skip
CLAIM: Mapping[str, Any] = {
    "debtorName": "Erika",
    "debtorLastName": "Mustermann",
    "language": None,
    "items": _FEES,
}


@dataclass
class Site(Doorstep):
    """`origin` is where the pages are."""

    origin: str = ""
    clock: MovableClock = cast("MovableClock", None)  # noqa: RUF009 - set before it is used

    async def link(self, **given: Any) -> str:
        return self.origin + await self.give_link(**given)

    async def hold(self, kind: str, days: int | None) -> None:
        until = None if days is None else self.till.now + timedelta(days=days)
        await self.till.house.rows(
            "INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, until, actor_kind)"
            " VALUES ($1, $2, $3, $4, $5, $6, 'SYSTEM')",
            self.claim_id, self.till.resources.ids.new(self.till.now), kind, self.till.now, until,
        )  # fmt: skip


@asynccontextmanager
async def a_site(
    resources: Resources, clock: MovableClock, configuration: Configuration = CONFIGURATION,
    debtor: Mapping[str, Any] = CLAIM,
) -> AsyncIterator[Site]:  # fmt: skip
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = replace(resources.settings, public_url=origin)
        resources = replace(resources, settings=settings)
        till = await a_till(
            resources, clock, configuration=configuration, debtor=dict(debtor), definition=None
        )
        app = build_web(resources)
        config = uvicorn.Config(
            app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        yield Site(till, app, cast("Any", None), origin, clock)
        server.should_exit = True
        await serving
        for close in app.on_shutdown:
            await cast("Any", close)()
