"""The page on which the debtor of a payment plan gives a direct debit mandate and revokes it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from dunwell.cases.statements.bank_accounts import close_bank_account, save_bank_account
from dunwell.cases.statements.store import StatementAccount
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debit_plans import DEBIT
from tests.support.direct_debits import CREDITOR_ID, DEBTOR_IBAN
from tests.support.landing import LandingHarness, a_landing
from tests.support.landing_plans import AGREEING, ask, enter, modalities, read_text

DEBITING = msgspec.structs.replace(
    AGREEING, payment=msgspec.structs.replace(AGREEING.payment, direct_debit=DEBIT)
)
_MANDATES = """
SELECT state, reference, text, language, actor_kind, account_shown FROM mandates
WHERE merchant_id = $1 ORDER BY signed_at
"""


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """A merchant with direct debits, and a debtor who has entered a letter's code."""
    async with a_landing(resources, clock, configuration=DEBITING) as landing:
        await enter(landing)
        yield landing


async def agree(landing: LandingHarness) -> str:
    """Agree to a plan, and return the address of its mandate."""
    await ask(landing)
    [plan] = await modalities(landing)
    return f"/claim/modality/{plan['modality_id']}/mandate"


async def give(landing: LandingHarness, path: str, **fields: str) -> httpx.Response:
    await landing.browser.get(path)
    given = {"holder": "Jürgen Weiß", "iban": "DE02 1203 0000 0000 2020 51", **fields}
    return await landing.browser.submit(path, **given)


async def list_mandates(landing: LandingHarness) -> list[Any]:
    return list(await landing.payments.harness.rows(_MANDATES))


async def test_the_plan_leads_to_the_mandate_with_its_text(landing: LandingHarness) -> None:
    path = await agree(landing)
    plan = await landing.browser.get(path.removesuffix("/mandate"))
    assert f'href="{path}"' in plan.text
    text = read_text((await landing.browser.get(f"{path}?lang=en")).text)
    assert "I authorise Nordwind GmbH to collect payments from my account" in text
    assert "I am notified 5 days before each debit." in text
    assert f"Creditor identifier {CREDITOR_ID}" in text


async def test_a_mandate_is_given_shown_and_revoked(landing: LandingHarness) -> None:
    path = await agree(landing)
    page = await give(landing, path)
    assert page.url.path == path
    text = read_text((await landing.browser.get(f"{path}?lang=en")).text)
    assert "DE •••• 2051" in text
    assert DEBTOR_IBAN not in text
    [mandate] = await list_mandates(landing)
    assert (mandate["state"], mandate["language"], mandate["actor_kind"]) == (
        "ACTIVE", "de", "DEBTOR",
    )  # fmt: skip
    assert mandate["text"].startswith("Ich ermächtige Nordwind GmbH")
    assert f"Mandate reference {mandate['reference']}" in text
    pdf = await landing.browser.get(f"{path}/pdf")
    assert pdf.headers["content-type"] == "application/pdf"
    page = await landing.browser.get(f"{path}/revoke")
    assert page.headers["Location"] == path
    await landing.browser.get(path)
    page = await landing.browser.submit(f"{path}/revoke")
    assert page.url.path == path.removesuffix("/mandate")
    assert [each["state"] for each in await list_mandates(landing)] == ["REVOKED"]


async def test_an_invalid_account_is_an_error_and_the_input_is_kept(
    landing: LandingHarness,
) -> None:
    path = await agree(landing)
    page = await give(landing, f"{path}", iban="DE02120300000000202052", holder=" ")
    assert 'value="DE02120300000000202052"' in page.text
    assert page.status_code == 422
    assert page.text.count('aria-invalid="true"') == 2
    page = await give(landing, path, iban="CH9300762011623852957")
    assert page.text.count('aria-invalid="true"') == 1
    assert await list_mandates(landing) == []


async def test_the_form_cannot_be_sent_for_another_reference(landing: LandingHarness) -> None:
    path = await agree(landing)
    page = await give(landing, path, reference="1-X-9")
    assert page.url.path == path
    assert await list_mandates(landing) == []


async def test_no_mandate_is_offered_while_the_bank_account_is_closed(
    landing: LandingHarness,
) -> None:
    harness = landing.payments.harness
    account = DEBIT.account
    async with harness.work() as work:
        await save_bank_account(work, StatementAccount("main", account.iban, account.holder))
    path = await agree(landing)
    assert path in (await landing.browser.get(path.removesuffix("/mandate"))).text
    async with harness.work() as work:
        await close_bank_account(work, "main")
    assert path not in (await landing.browser.get(path.removesuffix("/mandate"))).text
    page = await landing.browser.get(path)
    assert page.headers["Location"] == path.removesuffix("/mandate")


async def test_a_merchant_without_direct_debits_offers_none(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, configuration=AGREEING) as landing:
        await enter(landing)
        path = await agree(landing)
        plan = await landing.browser.get(path.removesuffix("/mandate"))
        assert path not in plan.text
        page = await landing.browser.get(path)
        assert page.headers["Location"] == path.removesuffix("/mandate")
