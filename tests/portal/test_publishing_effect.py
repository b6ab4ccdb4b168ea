"""The publishing page shows the effects of a draft in the coming days, with the messages, fees and
costs that `dunwell workflow preview` prints."""

import re
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.rollout.preview.effects import DEFAULT_PREVIEW_DAYS, PreviewScope
from dunwell.cases.rollout.preview.preview_costs import (
    compute_preview_costs_with_own_printer,
    prepare_costs,
)
from dunwell.cases.rollout.preview.preview_draft import (
    PreviewView,
    build_preview_view,
    preview_draft,
)
from dunwell.core.workflows.change_workflow import get_workflow_by_name
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.operations.jobs.previews.draft_previews import run_previews
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import snapshot
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, TEMPLATE
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.portal import Clerk, read_fields

_LINES: dict[str, Any] = {
    "post": {
        "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
        "prices": {"*": 0.5},
    },
    "sms": {
        "channel": "SMS", "adapter": "twilio", "prices": {"DE": 7.5},
        "credentials": {"user": "AC", "passwordFile": "p"},
    },
}  # fmt: skip
_SETUPS: Any = {"EMAIL": ChannelSetup(provider="post"), "SMS": ChannelSetup(provider="sms")}
_STEPS = DOCUMENT["steps"]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """E-mails to two debtors, one of whom has a phone number in a country without a price."""
    await apply_installation(resources, check_installation({"deliveryProviders": _LINES}))
    configuration = msgspec.structs.replace(CONFIGURATION, channels=_SETUPS)
    definition = a_definition(steps=_STEPS, templates={"reminder": TEMPLATE})
    harness = await a_harness(resources, clock, definition, configuration=configuration)
    for reference, number in (("INV-1", "+4915112345678"), ("INV-2", "+12125550123")):
        await harness.create(
            reference, email=f"{reference.lower()}@example.org", mobileNumber=number,
            address=ADDRESS,
        )  # fmt: skip
    return harness


@pytest.fixture
async def path(harness: Harness) -> str:
    """The path of a draft that sends by SMS what was sent by e-mail."""
    steps = [{**_STEPS[0], "channel": "SMS"}, *_STEPS[1:]]
    async with harness.work() as work:
        saved = await save_draft(
            work, "Standard", a_definition(steps=steps, templates={"reminder": TEMPLATE})
        )
    return f"/workflows/{saved.workflow_id}"


async def preview_as_the_command_does(harness: Harness) -> PreviewView:
    resources = harness.resources
    async with resources.database.connection() as connection, snapshot(connection):
        work = Work.open(resources, connection, harness.merchant, ERP)
        workflow = await get_workflow_by_name(connection, work.merchant_id, "Standard")
        asked = PreviewScope(DEFAULT_PREVIEW_DAYS, costs=True)
        preview = await preview_draft(work, resources.keys, workflow.workflow_id, asked)
        prepared = await prepare_costs(work, resources, preview)
    assert prepared is not None
    costs = await compute_preview_costs_with_own_printer(prepared, resources.settings.fonts)
    return build_preview_view("Standard", preview, costs)


async def start(clerk: Clerk, path: str) -> None:
    page = (await clerk.get(f"{path}/publish")).text
    draft = page.partition('name="known_draft" value="')[2].partition('"')[0]
    fields = {"token": read_fields(page)["token"], "known_draft": draft}
    assert (await clerk.post(f"{path}/preview", fields)).status_code == 303


def read_rows(page: str, heading: str) -> list[list[str]]:
    """Return the rows of the table below this heading."""
    table = page.partition(f'aria-labelledby="{heading}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [
        [re.sub(r"<[^>]+>", "", cell).replace("\N{EN DASH}", "-") for cell in row] for row in cells
    ]


async def test_the_page_shows_the_figures_of_the_command(
    clerk: Clerk, harness: Harness, path: str, resources: Resources
) -> None:
    asked_before = await clerk.get(f"{path}/publish")
    assert "Calculate impact" in asked_before.text
    await start(clerk, path)
    assert await run_previews(resources)

    page = (await clerk.get(f"{path}/publish")).text

    seen = await preview_as_the_command_does(harness)
    [row] = await harness.rows("SELECT result FROM workflow_previews WHERE merchant_id = $1")
    stored = row["result"]
    assert stored["outlook"] == msgspec.to_builtins(seen.outlook)
    assert stored["costs"] == msgspec.to_builtins(seen.costs)
    assert "The next 30 days" in page
    [_, day, total] = read_rows(page, "days")
    assert day[1:] == total[1:] == ["-", "2", "-", "-"]
    assert read_rows(page, "fees")[1:] == [["€2.50", "2"]]
    assert "Number of fees: 2. Number of debtors: 2. Total: €5.00." in page
    assert read_rows(page, "costs")[1:] == [
        ["E-mail", "post", "-", "2", "€0.01", "-", "€0.00"],
        ["SMS", "sms", "DE", "-", "€0.00", "1", "€0.08"],
        ["SMS", "sms", "US", "-", "€0.00", "1", "no price"],
        ["Total", "2", "€0.01", "2", "€0.08"],
    ]
    assert "Messages without a price: 0 before, 1 after." in page


async def test_a_result_of_an_earlier_release_is_shown_and_recomputed(
    clerk: Clerk, harness: Harness, path: str, resources: Resources
) -> None:
    await start(clerk, path)
    await run_previews(resources)
    await harness.rows(
        "UPDATE workflow_previews SET result = "
        "(result::jsonb - 'days' - 'outlook' - 'costs')::json WHERE merchant_id = $1"
    )

    page = (await clerk.get(f"{path}/publish")).text
    assert "This result does not include the messages" in page
    assert "The next 30 days" not in page
    await start(clerk, path)
    await run_previews(resources)
    assert "The next 30 days" in (await clerk.get(f"{path}/publish")).text


async def test_costs_are_left_out_without_provider_prices(
    clerk: Clerk, path: str, resources: Resources
) -> None:
    bare = {name: {**line, "prices": {}} for name, line in _LINES.items()}
    await apply_installation(resources, check_installation({"deliveryProviders": bare}))
    await start(clerk, path)
    await run_previews(resources)
    page = (await clerk.get(f"{path}/publish")).text
    assert "The next 30 days" in page
    assert "no delivery provider of this merchant has prices" in page
