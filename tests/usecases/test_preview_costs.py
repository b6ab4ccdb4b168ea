"""The costs of a changed workflow's messages before and after, by channel, delivery provider and
country."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.rollout.preview.costs import MessageCost, PreviewCosts
from dunwell.cases.rollout.preview.effects import PreviewScope
from dunwell.cases.rollout.preview.preview_costs import compute_preview_costs, prepare_costs
from dunwell.cases.rollout.preview.preview_draft import preview_draft
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.workflows.change_workflow import get_workflow_by_name
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import snapshot
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, TEMPLATE
from tests.support.command_line import CommandLine
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, a_harness
from tests.support.merchants import CONFIGURATION

_LINES: dict[str, Any] = {
    "post": {
        "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
        "prices": {"*": 0.5},
    },
    "sms": {
        "channel": "SMS", "adapter": "twilio", "prices": {"DE": 7.5, "AT": 8},
        "credentials": {"user": "AC", "passwordFile": "p"},
    },
    "print": {
        "channel": "LETTER", "adapter": "folder", "folder": "/letters",
        "prices": {"DE": 85, "*": 170},
    },
}  # fmt: skip
_SETUPS: Any = {
    "EMAIL": ChannelSetup(provider="post"), "SMS": ChannelSetup(provider="sms"),
    "LETTER": ChannelSetup(provider="print"),
}  # fmt: skip
# A text that needs more than one sheet.
_LONG = {"de": "Bitte zahlen Sie **{{ outstanding }}**.\n\n" * 120, "en": "{{ outstanding }}"}


def a_template(**changes: Any) -> dict[str, Any]:
    return {"reminder": {**TEMPLATE, **changes}}


def steps(channel: str, **changes: Any) -> list[dict[str, Any]]:
    return [{**DOCUMENT["steps"][0], "channel": channel, **changes}, *DOCUMENT["steps"][1:]]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Sends e-mails to three debtors: one in Austria, and one with a number of no country."""
    await apply_installation(resources, check_installation({"deliveryProviders": _LINES}))
    configuration = msgspec.structs.replace(CONFIGURATION, channels=_SETUPS)
    definition = a_definition(steps=steps("EMAIL"), templates=a_template())
    harness = await a_harness(resources, clock, definition, configuration=configuration)
    for reference, number, country in (
        ("INV-1", "+4915112345678", "DE"), ("INV-2", "+436641234567", "AT"),
        ("INV-3", "+12125550123", "US"),
    ):  # fmt: skip
        await harness.create(
            reference,
            email=f"{reference.lower()}@example.org",
            mobileNumber=number,
            address={**ADDRESS, "country": country},
        )
    return harness


@pytest.fixture
async def printer() -> AsyncIterator[LetterPrinter]:
    printer = LetterPrinter(1)
    yield printer
    await printer.close()


async def save(harness: Harness, **changes: Any) -> None:
    given = {"templates": a_template(), **changes}
    async with harness.work() as work:
        await save_draft(work, "Standard", a_definition(**given))


async def foresee(
    harness: Harness, printer: LetterPrinter, actor: Actor = ERP, days: int = 30
) -> PreviewCosts | None:
    resources = harness.resources
    async with resources.database.connection() as connection, snapshot(connection):
        work = Work.open(resources, connection, harness.merchant, ERP)
        workflow = await get_workflow_by_name(connection, work.merchant_id, "Standard")
        asked = PreviewScope(days, costs=True)
        preview = await preview_draft(work, resources.keys, workflow.workflow_id, asked)
        work = Work.open(resources, connection, harness.merchant, actor)
        prepared = await prepare_costs(work, resources, preview)
    return None if prepared is None else await compute_preview_costs(prepared, printer=printer)


def show(costs: PreviewCosts | None) -> list[tuple[Any, ...]]:
    assert costs is not None
    return [
        (each.channel, each.provider, each.country, _describe(each.before), _describe(each.after))
        for each in costs.rows
    ]


def _describe(spent: MessageCost) -> tuple[int, int, str]:
    return spent.messages, spent.unpriced, f"{spent.cents.normalize():f}"


async def test_another_channel_is_priced_by_its_delivery_provider(
    harness: Harness, printer: LetterPrinter
) -> None:
    await save(harness, steps=steps("SMS"))
    costs = await foresee(harness, printer)
    assert show(costs) == [
        ("EMAIL", "post", None, (3, 0, "1.5"), (0, 0, "0")),
        ("SMS", "sms", "AT", (0, 0, "0"), (1, 0, "8")),
        ("SMS", "sms", "DE", (0, 0, "0"), (1, 0, "7.5")),
        ("SMS", "sms", "US", (0, 0, "0"), (1, 1, "0")),
    ]
    assert costs is not None
    assert (costs.before.cents, costs.after.cents) == (Decimal("1.5"), Decimal("15.5"))


async def test_letters_cost_their_printed_sheets_by_country(
    harness: Harness, printer: LetterPrinter
) -> None:
    await save(harness, steps=steps("LETTER"))
    assert show(await foresee(harness, printer))[1:] == [
        ("LETTER", "print", "AT", (0, 0, "0"), (1, 0, "170")),
        ("LETTER", "print", "DE", (0, 0, "0"), (1, 0, "85")),
        ("LETTER", "print", "US", (0, 0, "0"), (1, 0, "170")),
    ]
    long = {**TEMPLATE["LETTER"], "body": _LONG}
    await save(harness, steps=steps("LETTER"), templates=a_template(LETTER=long))
    [_, _, (*_, german), _] = show(await foresee(harness, printer))
    cents = Decimal(german[2])
    assert cents % 85 == 0
    assert cents >= 3 * 85


async def test_only_a_longer_text_costs_more(harness: Harness, printer: LetterPrinter) -> None:
    await harness.publish(a_definition(steps=steps("SMS"), templates=a_template()))
    body = {"de": "x" * 200 + TEMPLATE["SMS"]["body"]["de"], "en": TEMPLATE["SMS"]["body"]["en"]}
    await harness.create("INV-9", mobileNumber="+4915112345679", email=None)
    await save(harness, steps=steps("SMS"), templates=a_template(SMS={"body": body}))
    costs = await foresee(harness, printer)
    assert costs is not None
    assert costs.after.cents > costs.before.cents > 0
    assert costs.after.messages == costs.before.messages


async def test_no_costs_are_shown_without_prices_or_days(
    harness: Harness, printer: LetterPrinter
) -> None:
    await save(harness, steps=steps("SMS"))
    assert await foresee(harness, printer, days=0) is None
    bare = {name: {**line, "prices": {}} for name, line in _LINES.items()}
    await apply_installation(harness.resources, check_installation({"deliveryProviders": bare}))
    assert await foresee(harness, printer) is None


async def test_the_command_line_shows_the_costs(dunwell: CommandLine, harness: Harness) -> None:
    await save(harness, steps=steps("SMS"))
    output = dunwell.run("workflow", "preview", "nordwind", "Standard").stdout
    [_, costs] = output.split("The costs of these messages by the prices of their providers")
    lines = [line.split() for line in costs.splitlines()]
    assert ["SMS", "sms", "DE", "-", "€0.00", "1", "€0.08"] in lines
    assert ["SMS", "sms", "US", "-", "€0.00", "1", "no", "price"] in lines
    assert ["total", "3", "€0.02", "3", "€0.16"] in lines
    assert ["Without", "a", "price:", "0", "before,", "1", "after"] in lines
    output = dunwell.run("workflow", "preview", "nordwind", "Standard", "--json").stdout
    seen = msgspec.json.decode(output)["costs"]
    assert seen["after"] == {"messages": 3, "unpriced": 1, "cents": "15.5"}
    assert seen["rows"][0]["provider"] == "post"
