"""A claim with one of everything that its pages show, and visitors at every authentication
level."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import (
    Brand,
    Configuration,
    DeferralSettings,
    DisputeReason,
    DisputeSettings,
    LegalDetails,
    MerchantContact,
    ModalitySettings,
    PartialPaymentSettings,
    PlanSettings,
)
from dunwell.cases.payments.choice import PaymentChoiceKind
from dunwell.contact.sending.references import build_reference
from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debit_plans import DEBIT
from tests.support.disputes import REJECTED, dispute, give_evidence, resolve
from tests.support.documents import attach
from tests.support.files import an_image
from tests.support.guarded_landing import BOTH_CHANNELS, NUMBER, ON_FILE, read_sent_code
from tests.support.harness import ERP
from tests.support.landing import Browser, LandingHarness, a_landing
from tests.support.modalities import Arrangement
from tests.support.transfers import ACCOUNT, nordwind_with_account

# Returns the text with a given name.
Texts = Callable[[str], str]
Ids = dict[str, Any]
# The query strings of some pages.
QUERIES = {
    "/claim/pay/method": "?cents=1000",
    "/claim/pay/transfer": "?cents=1000",
    "/claim/pay/code.png": "?cents=1000",
    "/claim/pay/sent": "?cents=1000",
    "/claim/plan": "?offer=3",
    "/claim/plan/check": "?count=3&first=2026-03-16",
    "/claim/later/check": "?until=2026-03-31",
}
# Contact details in another claim of the same debtor.
OTHERS_ON_FILE = {"email": "erika@example.org", "mobileNumber": NUMBER}
_VERIFY = "/claim/verify/preferences"
_NAME_ALL = """
WITH named AS (
    UPDATE merchants SET name = $2, revision = revision + 1 WHERE merchant_id = $1
)
UPDATE claims SET reference_number = $3 WHERE merchant_id = $1 AND claim_id = $4
"""


def use_name_as_text(name: str) -> str:
    return name


@dataclass
class FullClaim:
    """`ids` holds the values of the path parameters of the claim's pages, by name, and the ids of
    further disputes."""

    landing: LandingHarness
    claim_id: int
    ids: Ids = field(default_factory=dict)

    def fill(self, address: str) -> str:
        """Return an address of the interface with the claim's ids."""
        return re.sub(r"\{(\w+)\}", lambda found: str(self.ids[found[1]]), address)

    def build_link(self, address: str) -> str:
        """Return the same address as a link on a page would have it."""
        return self.fill(address) + QUERIES.get(address, "")

    async def enter(self, level: Level, address: str = "192.0.2.1") -> Browser:
        """Return a visitor with exactly this authentication level."""
        browser = self.landing.visitor(address)
        if level is Level.LINK:
            await browser.open(await self.landing.give_link(claim_id=self.claim_id))
            return browser
        await browser.type_code(await self.landing.give_code(self.claim_id))
        if level is Level.CODE:
            await browser.get(_VERIFY)
            await browser.submit(f"{_VERIFY}/send")
            page = await browser.submit(f"{_VERIFY}/code", code=await read_sent_code(self.landing))
            assert page.url.path == "/claim/preferences"
        return browser

    async def type_draft(self, visitor: Browser, texts: Texts = use_name_as_text) -> None:
        """Fill in a dispute with a file without submitting it."""
        path = "/claim/dispute/NOT_MY_DEBT"
        await visitor.get(path)
        file = (f"{texts('draft-file')}.png", an_image("PNG"))
        typed = {"person": texts("person"), "message": texts("draft")}
        page = await visitor.send(path, [file], do="keep", **typed)
        assert page.status_code == 200

    async def refuse_plan(self, texts: Texts = use_name_as_text) -> None:
        """Cancel the agreed plan and reject another one, which is then the claim's latest."""
        arrangement = Arrangement(self.landing.payments.harness, self.claim_id)
        await arrangement.withdraw(self.ids["modality_id"])
        asked = await arrangement.ask()
        await arrangement.reject(asked.modality_id, texts("refusal"))
        self.ids["modality_id"] = asked.modality_id


def configuration_with_everything(texts: Texts = use_name_as_text) -> Configuration:
    """Return a merchant's configuration with every optional feature."""
    account = msgspec.structs.replace(ACCOUNT, holder=texts("holder"))
    configuration = nordwind_with_account(
        PartialPaymentSettings("500", items=True), account=account
    )
    return msgspec.structs.replace(
        configuration,
        payment=msgspec.structs.replace(configuration.payment, direct_debit=DEBIT),
        legal=LegalDetails(
            texts("legal-name"), f"{texts('street')}\n{texts('town')}", texts("register"),
            texts("authority"), texts("vat-id"), (texts("representative"),),
        ),
        contact=MerchantContact(texts("mail"), texts("phone"), texts("hours")),
        modalities=ModalitySettings(PlanSettings(counts=(2, 3)), DeferralSettings(max_days=42)),
        disputes=DisputeSettings((DisputeReason("MINE", {"de": texts("own"), "en": texts("own")}),
        )),
        brand=Brand(color="#0a5c8f"),
        channels=BOTH_CHANNELS,
    )  # fmt: skip


@asynccontextmanager
async def a_full_claim(
    resources: Resources, clock: MovableClock, texts: Texts = use_name_as_text
) -> AsyncIterator[FullClaim]:
    """Return a claim with two items, a document, disputes in both final states, a payment with a
    receipt, and an agreed plan."""
    items = [
        {"reference": texts("item"), "type": "PRIMARY", "value": "6000", "dueDate": "2026-02-01"},
        {"reference": texts("fee"), "type": "DUNNING_FEE", "value": "4240"},
    ]
    debtor: Ids = ON_FILE | {
        "items": items, "debtorName": texts("first"), "debtorLastName": texts("last"),
        "companyName": texts("company"), "mobileNumber": NUMBER,
    }  # fmt: skip
    async with a_landing(
        resources, clock, configuration=configuration_with_everything(texts), debtor=debtor
    ) as landing:
        full_claim = FullClaim(landing, landing.claim_id)
        await add_everything(full_claim, texts)
        yield full_claim


async def add_everything(full_claim: FullClaim, texts: Texts = use_name_as_text) -> None:
    """Add everything except the items, which exist since the claim was created."""
    landing, claim_id = full_claim.landing, full_claim.claim_id
    harness = landing.payments.harness
    if texts is not use_name_as_text:
        await harness.rows(_NAME_ALL, texts("merchant"), texts("reference"), claim_id)
    attachment_id = await attach(harness, claim_id, texts("document"))
    request_id = await _pay(landing, claim_id)
    modality = await Arrangement(harness, claim_id).agree()
    [other_id] = await harness.create(f"OTHER-{claim_id}", **OTHERS_ON_FILE)
    opened = await dispute(harness, claim_id, message=texts("objection"))
    await give_evidence(harness, opened, f"{texts('evidence')}.pdf")
    own = await dispute(harness, claim_id, "MINE", message=texts("own-objection"))
    answered = await dispute(harness, claim_id, "OTHER", message=texts("record"), actor=ERP)
    await resolve(harness, answered, REJECTED, message=texts("answer"))
    full_claim.ids = {
        "token": (await landing.give_link(claim_id=claim_id)).removeprefix("/q/"),
        "reference": build_reference(
            landing.payments.resources.keys, landing.payments.merchant_id, request_id
        ),
        "attachment_id": attachment_id, "request_id": request_id,
        "modality_id": modality.modality_id, "dispute_id": opened.dispute_id,
        "own": own.dispute_id, "answered": answered.dispute_id, "reason": "DEFECTIVE",
        "place": "preferences", "what": "email", "merchant_id": landing.payments.merchant_id,
        "revision": 1, "name": "brand.css", "other": other_id,
    }  # fmt: skip


async def _pay(landing: LandingHarness, claim_id: int) -> UUID:
    """Pay a part of the claim on the page."""
    payments = replace(landing.payments, claim_id=claim_id)
    started = await payments.start(1000, kind=PaymentChoiceKind.PART)
    payments.pays(1000, number=f"psp-{claim_id}")
    await payments.settle(started.request_id)
    return started.request_id
