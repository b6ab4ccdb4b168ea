"""The whole web application, with one merchant's claims in every state."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import msgspec

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.installation_file import Installation, Operator
from dunwell.accounts.merchants.configuration import (
    BankAccount,
    Brand,
    ChannelSetup,
    Configuration,
    DeferralSettings,
    LandingPage,
    LegalDetails,
    Logo,
    ModalitySettings,
    PartialPaymentSettings,
    PaymentMethod,
    PaymentSettings,
    PlanSettings,
)
from dunwell.platform.clock import MovableClock
from tests.support.landing import LandingHarness
from tests.support.payments import PAYING, a_payment_harness
from tests.support.served import ServedApplication

_LOGO = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 220 48" width="220" height="48">
<path d="M4 34c10-2 12-22 24-22 8 0 10 8 20 8-6 10-18 18-34 18-4 0-8-1-10-4z" fill="#0b5d57"/>
<text x="62" y="33" font-family="sans-serif" font-size="25" font-weight="700"
 fill="#12332f">Nordwind</text>
</svg>"""
CONFIGURATION = msgspec.structs.replace(
    PAYING,
    legal=LegalDetails(
        name="Nordwind Schuhe GmbH",
        address="Deichstraße 1\n20459 Hamburg",
        register="HRB 112233, Amtsgericht Hamburg",
        vat_id="DE123456789",
        representatives=("Ina Brandt", "Jan Feddersen"),
    ),
    brand=Brand(Logo("image/svg+xml", _LOGO), "#0b5d57"),
)
# A merchant that offers everything. The links in its text messages ask for a known fact.
OFFERING_ALL = msgspec.structs.replace(
    CONFIGURATION,
    payment=PaymentSettings(
        bank_account=BankAccount(
            iban="DE02120300000000202051", holder="Nordwind Schuhe GmbH", bic="BYLADEM1001"
        ),
        methods=(PaymentMethod("sandbox"),),
        partial=PartialPaymentSettings(min_amount="500", items=True),
    ),
    modalities=ModalitySettings(
        PlanSettings(min_rate="2000", auto_approve=True),
        DeferralSettings(max_days=42, auto_approve=True),
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
class Site(LandingHarness):
    """A merchant in the running application. `origin` is the origin of the debtor's pages."""

    origin: str = ""
    clock: MovableClock = cast("MovableClock", None)  # noqa: RUF009 - set before it is used
    installation: CurrentInstallation | None = None

    async def link(self, **given: Any) -> str:
        return self.origin + await self.give_link(**given)

    async def set_operator(self, operator: Operator) -> None:
        """Set the operator until the end of the test."""
        assert self.installation is not None
        await apply_installation(self.payments.resources, Installation(operator=operator))
        await self.installation.refresh()

    async def hold(self, kind: str, days: int | None) -> None:
        until = None if days is None else self.payments.now + timedelta(days=days)
        await self.payments.harness.rows(
            "INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, until, actor_kind)"
            " VALUES ($1, $2, $3, $4, $5, $6, 'SYSTEM')",
            self.claim_id, self.payments.resources.ids.new(self.payments.now), kind,
            self.payments.now, until,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunningApplication:
    """The application at its address, reused between tests. Building it takes longer than fifty
    requests. `clock` is the only clock that it uses."""

    served: ServedApplication
    clock: MovableClock

    async def create_site(
        self, configuration: Configuration = CONFIGURATION, debtor: Mapping[str, Any] = CLAIM
    ) -> Site:
        """Create another merchant and return its site."""
        served = self.served
        payments = await a_payment_harness(
            served.resources, self.clock, configuration=configuration, debtor=dict(debtor),
            definition=None,
        )  # fmt: skip
        return Site(
            payments, served.app, cast("Any", None), served.origin, self.clock, served.installation
        )
