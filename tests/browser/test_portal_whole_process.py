"""A new user builds the workflow of examples/ by following the pages: a merchant, its settings, the
steps, the templates, the rules and an API credential. A claim that is created with the credential
is assigned to the workflow."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from playwright.async_api import Locator

from dunwell.core.workflows.checking import parse_definition
from dunwell.platform.text.yaml_document import parse_yaml
from tests.browser.browser_page import Tabs
from tests.browser.clerk import PortalClerk, PortalWay, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

_EXAMPLE = parse_yaml((Path(__file__).parents[2] / "examples/friendly-reminders.yaml").read_text())
_WAYS = (
    PortalWay("en", 1280, scripts=True, by="mouse"),
    PortalWay("de", 390, scripts=False, by="keyboard"),
)
_KINDS = {
    "CHECKPOINT": "Checkpoint",
    "COMMUNICATION": "E-mail, SMS or letter",
    "WAIT": "Wait",
    "FEE": "Fee",
}
_CLAIM = {
    "referenceNumber": "TK-1", "currency": "EUR", "debtorName": "Anna",
    "debtorLastName": "Petersen", "email": "anna@post.example", "language": "de",
    "items": [{"reference": "RE-1", "type": "PRIMARY", "value": "4890", "itemDate": "2026-01-12",
               "dueDate": "2026-01-26"}],
}  # fmt: skip


async def _open_merchant(clerk: PortalClerk) -> int:
    choice = clerk.page.locator("header").get_by_role("link", name=clerk.say("Switch merchant"))
    await clerk.press_element(choice)
    await clerk.press("New merchant")
    await clerk.fill("Name", "Teekontor Hansen")
    await clerk.fill("Key", f"whole-{clerk.way.name}")
    await clerk.press("Create merchant")
    await clerk.expect_text("Merchant created. The remaining setup steps are listed below.")
    return int(clerk.page.url.split("/m/")[1].split("/")[0])


async def _configure(clerk: PortalClerk) -> None:
    """Set everything that the checklist marks as missing, from its top."""
    await clerk.press("Creditor details")
    await clerk.fill("Legal name", "Teekontor Hansen GmbH")
    await clerk.fill("Postal address", "Speicherweg 12\n20457 Hamburg")
    await clerk.press("Save")
    await clerk.press("Support contact")
    await clerk.fill("E-mail address", "rechnung@teekontor.example")
    await clerk.press("Save")
    await clerk.press("Delivery channel")
    for channel, sender in (("EMAIL", "rechnung@teekontor.example"), ("SMS", "Teekontor")):
        await _choose_outbox(clerk, channel)
        await clerk.page.locator(f'input[name="channels.{channel}.from"]').fill(sender)
    await _choose_outbox(clerk, "LETTER")
    await clerk.press("Preview changes")
    await clerk.press("Save")
    await clerk.press("Payment method")
    await clerk.fill("IBAN", "DE02 1203 0000 0000 2020 51")
    await clerk.fill("Account holder", "Teekontor Hansen GmbH")
    await clerk.press("Preview changes")
    await clerk.press("Save")
    await clerk.expect_text("Setup complete: claims can be created")


async def _choose_outbox(clerk: PortalClerk, channel: str) -> None:
    box = clerk.page.locator(f'select[name="channels.{channel}.by"]')
    await box.select_option("adapter:outbox")


async def _fill_step(clerk: PortalClerk, step: Mapping[str, Any]) -> None:
    await clerk.fill("Name", step["name"])
    if step["kind"] == "CHECKPOINT":
        await clerk.fill("Offset", str(step["offset"]))
        await clerk.fill("Message", step["message"])
    elif step["kind"] == "WAIT":
        is_business = "businessDays" in step
        await clerk.fill("Days", str(step["businessDays" if is_business else "days"]))
        unit = (
            "Business days (contact days without public holidays)"
            if is_business
            else "Calendar days"
        )
        await clerk.choose(unit)
    elif step["kind"] == "FEE":
        await clerk.choose("Dunning fee")
        await clerk.fill("Amount in %(currency)s", _say_amount(clerk, int(step["value"])))
    else:
        await clerk.fill("Text", step["template"])
        await clerk.pick("Channel", step["channel"])
        later = ("Fallback 1", "Fallback 2")
        for label, channel in zip(later, step["fallbacks"], strict=False):
            await clerk.pick(label, channel)
        if step.get("attachments") == "OPTIONAL":
            await clerk.choose("If available")


def _say_amount(clerk: PortalClerk, cents: int) -> str:
    amount = f"{cents / 100:.2f}"
    return amount.replace(".", ",") if clerk.way.language == "de" else amount


async def _build_steps(clerk: PortalClerk) -> None:
    """Fill the first message and its wait, which exist, and add the steps before and after them."""
    before, first, wait, *behind = _EXAMPLE["steps"]
    for name, step in (("First reminder", first), ("Payment period", wait)):
        await clerk.press(name)
        await _fill_step(clerk, step)
        await clerk.press("Save")
        await clerk.press("Back to steps")
    await clerk.unfold("Add first step")
    await _add(clerk, before, clerk.page.locator("main details.add").first)
    for step in behind:
        folded = clerk.page.locator("main details.add").last
        await clerk.tick(folded.locator("summary"))
        await _add(clerk, step, folded)


async def _add(clerk: PortalClerk, step: Mapping[str, Any], folded: Locator) -> None:
    kind = clerk.say(_KINDS[step["kind"]])
    await clerk.press_element(folded.get_by_role("link", name=kind))
    await _fill_step(clerk, step)
    await clerk.press("Add step")
    await clerk.press("Back to steps")


async def _fill_settings(clerk: PortalClerk) -> None:
    await clerk.press("Settings")
    await clerk.fill("Languages", "de, en")
    await clerk.fill("Currency", "EUR")
    await clerk.fill("Time zone", "Europe/Berlin")
    await clerk.fill("Public holidays of the country", "DE")
    await clerk.fill("State or region", "HH")
    await clerk.press("Save")
    await clerk.expect_text("Saved in draft.")


async def _write_texts(clerk: PortalClerk) -> None:
    """Write the snippets first, and then every text that the grid marks as missing."""
    await clerk.press("Templates")
    for name, texts in _EXAMPLE["snippets"].items():
        await clerk.unfold("New snippet")
        await clerk.fill("Snippet name", name)
        form = clerk.page.locator("form").filter(has=clerk.page.locator("#snippet"))
        await clerk.press_element(form.get_by_role("button"))
        await _write(clerk, texts["de"])
        await _open_cell(clerk, f"{name} en")
        await _write(clerk, texts["en"])
    for name, channels in _EXAMPLE["templates"].items():
        for channel, texts in channels.items():
            for language in ("de", "en"):
                await _open_cell(clerk, f"{name} {channel} {language}")
                if "subject" in texts:
                    await clerk.fill("Subject", texts["subject"][language])
                await _write(clerk, texts["body"][language])
    await clerk.expect_text("All templates are complete.")


async def _open_cell(clerk: PortalClerk, place: str) -> None:
    name = re.compile(rf"{re.escape(place)}$")
    await clerk.press_element(clerk.page.locator("main td").get_by_role("link", name=name))


async def _write(clerk: PortalClerk, text: str) -> None:
    """Paste the text, as a user does who has it in another file."""
    await clerk.page.locator("main").get_by_label(clerk.say("Text")).fill(text.strip())
    await clerk.press("Save in draft")
    await clerk.press("Templates")


async def _open_previews(clerk: PortalClerk) -> None:
    """Open the preview of a text and the simulation of a claim."""
    await _open_cell(clerk, "first-reminder EMAIL de")
    await clerk.press("Preview")
    await clerk.press("Templates")
    await clerk.press("Simulation")
    await clerk.expect_text("Timeline")
    await clerk.press("Steps")


async def _publish(clerk: PortalClerk) -> None:
    await clerk.press("Review & publish")
    await clerk.fill("Version note", "The first of all")
    await clerk.press("Publish %(version)s", version="v1.0")
    await clerk.press("Assign the workflow to claims: assignment rules")
    await clerk.pick("Default workflow", "Friendly")
    await clerk.press("Save in draft")
    await clerk.press("Review & publish")
    await clerk.press("Publish")
    await clerk.press("Settings: check whether anything is missing")
    await clerk.expect_text("Setup complete: claims can be created")


async def _get_credential(clerk: PortalClerk) -> dict[str, str]:
    await clerk.press("API credentials")
    await clerk.fill("Name", "shop")
    await clerk.press("Create")
    client_id, secret = await clerk.page.locator("main dd.id").all_inner_texts()
    return {"client_id": client_id, "client_secret": secret}


async def _create_claim(origin: str, merchant_id: int, credential: Mapping[str, str]) -> Any:
    """Create a claim with the API and return it as it is read."""
    async with httpx.AsyncClient(base_url=f"{origin}/api") as api:
        asked = {"grant_type": "client_credentials", **credential}
        token = (await api.post("/token", data=asked)).json()["access_token"]
        api.headers["Authorization"] = f"Bearer {token}"
        created = await api.post(f"/merchants/{merchant_id}/claims", json=[_CLAIM])
        claim_id = created.json()["result"][0]["id"]
        return (await api.get(f"/merchants/{merchant_id}/claims/{claim_id}")).json()["result"]


def _plain(document: Any) -> Any:
    """Return the definition without step ids, which show the order in which steps were added, and
    without blank lines at the ends of texts."""
    built = msgspec.to_builtins(parse_definition(document))
    return _strip({**built, "steps": [{**each, "id": 0} for each in built["steps"]]})


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strip(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_strip(each) for each in value]
    return value.strip() if isinstance(value, str) else value


@pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.name)
async def test_a_new_user_builds_the_example_workflow_and_assigns_a_claim(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    async with open_portal(tabs, site, data, way, "whole") as clerk:
        merchant_id = await _open_merchant(clerk)
        await _configure(clerk)
        await clerk.press("Workflow with templates")
        await clerk.fill("Name", "Friendly")
        await clerk.press("Create workflow")
        workflow_id = clerk.page.url.split("/workflows/")[1].partition("?")[0]
        await _build_steps(clerk)
        if way.scripts:
            await clerk.check_page(html_checker)
        await _fill_settings(clerk)
        await _write_texts(clerk)
        await _open_previews(clerk)
        await clerk.press("Import & export")
        exported = parse_yaml((await clerk.save("Download as YAML")).decode())
        await clerk.press("Steps")
        await _publish(clerk)
        claim = await _create_claim(site.origin, merchant_id, await _get_credential(clerk))

    assert _plain(exported) == _plain(_EXAMPLE)
    assert claim["assignment"]["workflowId"] == workflow_id, claim
