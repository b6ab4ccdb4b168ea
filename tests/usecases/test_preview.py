"""Previews of what publishing a draft would do to running claims."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.rollout.preview.effects import (
    ClaimContactChange,
    ContactAspect,
    ContactChangeKind,
    PreviewScope,
)
from dunwell.cases.rollout.preview.preview_draft import DraftPreview, preview_draft
from dunwell.cases.rollout.store import iterate_persons
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.guards.guards import HoldReason
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.channel import Accepted
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.core.workflows.change_workflow import get_workflow_by_name
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, ScriptedChannel, a_harness
from tests.support.merchants import CONFIGURATION

# A Monday, 10:00 in Berlin.
MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
EMAIL = DOCUMENT["steps"][0]
WAIT = {"id": 2, "name": "Wait a week", "kind": "WAIT", "days": 7}
FEE = {"id": 3, "name": "Dunning fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
AGAIN = {**EMAIL, "id": 4, "name": "Second reminder"}
LAST = {"id": 5, "name": "Last wait", "kind": "WAIT", "days": 14}
STEPS = [EMAIL, WAIT, FEE, AGAIN, LAST]
BOTH = msgspec.structs.replace(
    CONFIGURATION,
    channels={"EMAIL": ChannelSetup(adapter="outbox"), "SMS": ChannelSetup(adapter="outbox")},
)
_SMS = {"body": {"de": "{{ landing.url }}", "en": "{{ landing.url }}"}}
TEMPLATES = {"reminder": {**DOCUMENT["templates"]["reminder"], "SMS": _SMS}}


def with_step(step: dict[str, Any], **changes: Any) -> list[dict[str, Any]]:
    return [{**each, **changes} if each is step else each for each in STEPS]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """A merchant with version v1.0 published and no claims."""
    definition = a_definition(steps=STEPS, templates=TEMPLATES)
    channels = [ScriptedChannel(), ScriptedChannel(channel="SMS")]
    return await a_harness(resources, clock, definition, configuration=BOTH, channels=channels)


async def save(harness: Harness, **changes: Any) -> None:
    given = {"steps": STEPS, "templates": TEMPLATES, **changes}
    async with harness.work() as work:
        await save_draft(work, "Standard", a_definition(**given))


async def preview(harness: Harness, asked: PreviewScope | None = None) -> DraftPreview:
    resources = harness.resources
    async with resources.database.connection() as connection, snapshot(connection):
        work = Work.open(resources, connection, harness.merchant, ERP)
        workflow = await get_workflow_by_name(connection, work.merchant_id, "Standard")
        return await preview_draft(work, resources.keys, workflow.workflow_id, asked)


def read(claim: ClaimContactChange) -> tuple[Any, ...]:
    contacts = [
        each and (each.at, each.channel, each.step_id) for each in (claim.before, claim.after)
    ]
    return claim.reference_number, claim.kind, *contacts


async def test_a_changed_time_of_a_contact_is_shown_for_each_claim(
    harness: Harness, clock: MovableClock
) -> None:
    saturday = MONDAY + timedelta(days=5)
    clock.move_to(saturday)
    await harness.create("INV-1")
    await save(harness, steps=with_step(EMAIL, send="IMMEDIATE"))
    seen = await preview(harness)
    assert (seen.plan.verdict, seen.plan.after, seen.plan.reached) == (
        VersionVerdict.MINOR,
        "v1.1",
        1,
    )
    monday = datetime(2026, 3, 9, 8, tzinfo=UTC)
    [claim] = seen.effects.listed
    assert read(claim) == (
        "INV-1",
        ContactChangeKind.CHANGED,
        (monday, "EMAIL", 1),
        (saturday, "EMAIL", 1),
    )
    assert claim.aspects == (ContactAspect.TIME,)


async def test_each_claim_has_one_kind_and_the_callback_gets_all_claims(harness: Harness) -> None:
    await harness.create("INV-1", mobileNumber="+4915112345678", customerNumber="K-1")
    await harness.create("INV-2", customerNumber="K-2")
    await harness.create("INV-3", email=None, customerNumber="K-3")
    await harness.create("INV-4", email=None, mobileNumber="+4915112345679", customerNumber="K-4")
    # Only the first reminder becomes an SMS.
    await save(harness, steps=[{**EMAIL, "channel": "SMS"}, WAIT, FEE, AGAIN, LAST])
    received: list[ClaimContactChange] = []
    seen = await preview(harness, PreviewScope(listed=2, sink=received.append))
    later = datetime(2026, 3, 9, 9, tzinfo=UTC)
    assert [read(claim) for claim in received] == [
        ("INV-1", ContactChangeKind.CHANGED, (MONDAY, "EMAIL", 1), (MONDAY, "SMS", 1)),
        ("INV-2", ContactChangeKind.CHANGED, (MONDAY, "EMAIL", 1), (later, "EMAIL", 4)),
        ("INV-3", ContactChangeKind.UNCHANGED, None, None),
        ("INV-4", ContactChangeKind.NEW, None, (MONDAY, "SMS", 1)),
    ]
    assert seen.effects.counts == {
        ContactChangeKind.CHANGED: 2,
        ContactChangeKind.UNCHANGED: 1,
        ContactChangeKind.NEW: 1,
    }
    assert seen.effects.aspects == {
        ContactAspect.TIME: 1,
        ContactAspect.CHANNEL: 1,
        ContactAspect.STEP: 1,
    }
    assert seen.effects.listed == received[:2]


async def test_a_changed_text_changes_the_contacts_that_would_send_it(harness: Harness) -> None:
    await harness.create("INV-1")
    texts = {"de": "Guten Tag, {{ landing.url }}", "en": "Hello, {{ landing.url }}"}
    email = {**TEMPLATES["reminder"]["EMAIL"], "body": texts}
    await save(harness, templates={"reminder": {**TEMPLATES["reminder"], "EMAIL": email}})
    [claim] = (await preview(harness)).effects.listed
    assert (claim.kind, claim.aspects, claim.before) == (
        ContactChangeKind.CHANGED, (ContactAspect.CONTENT,), claim.after,
    )  # fmt: skip
    changed = {"body": {"de": "Neu {{ landing.url }}", "en": "New {{ landing.url }}"}}
    await save(harness, templates={"reminder": {**TEMPLATES["reminder"], "SMS": changed}})
    assert (await preview(harness)).effects.counts == {ContactChangeKind.UNCHANGED: 1}


async def test_a_major_version_reaches_no_claim_and_is_not_forecast(harness: Harness) -> None:
    await harness.create("INV-1", "INV-2")
    await save(harness, steps=with_step(WAIT, days=5))
    seen = await preview(harness)
    assert (seen.plan.verdict, seen.plan.reached, seen.plan.staying) == (VersionVerdict.MAJOR, 0, 2)
    assert (seen.effects.claims, seen.effects.outlook) == (0, None)


async def test_claims_on_hold_continue_at_its_end_or_are_counted_separately(
    harness: Harness, clock: MovableClock
) -> None:
    first, second, _ = await harness.create("INV-1", "INV-2", "INV-3", customerNumber=None)
    friday = MONDAY + timedelta(days=4)
    async with harness.work() as work:
        await open_hold(work, first, HoldKind.PAUSE, until=friday)
        await open_hold(work, second, HoldKind.DISPUTE)
    await save(harness, steps=with_step(FEE, value="300"))
    received: list[ClaimContactChange] = []
    seen = await preview(harness, PreviewScope(sink=received.append))
    assert [read(claim)[1:3] for claim in received] == [
        (ContactChangeKind.UNCHANGED, (friday, "EMAIL", 1)), (ContactChangeKind.HELD, None),
        (ContactChangeKind.UNCHANGED, (MONDAY, "EMAIL", 1)),
    ]  # fmt: skip
    assert seen.effects.outlook is not None
    assert seen.effects.outlook.claims == 2


async def test_the_days_ahead_are_forecast(harness: Harness) -> None:
    for number in range(3):
        await harness.create(
            f"INV-{number}", customerNumber=f"K-{number}", email=f"e{number}@x.org"
        )
    await save(harness, steps=with_step(FEE, value="300"))
    outlook = (await preview(harness)).effects.outlook
    assert outlook is not None
    assert outlook.contacts == {(date(2026, 3, 2), "EMAIL"): 3, (date(2026, 3, 9), "EMAIL"): 3}
    assert (outlook.fees, outlook.fee_sums, outlook.archived) == (3, {300: 3}, 3)
    assert (outlook.held_back, outlook.unreachable, outlook.missed_contacts) == ({}, 0, 0)
    short = (await preview(harness, PreviewScope(days=6))).effects.outlook
    assert short is not None
    assert (sum(short.contacts.values()), short.fees, short.archived) == (3, 0, 0)


async def test_the_forecast_respects_the_contact_limits_of_a_person(harness: Harness) -> None:
    await harness.create("INV-1", "INV-2", "INV-3", customerNumber="K-1")
    await save(harness, steps=with_step(FEE, value="300"))
    outlook = (await preview(harness, PreviewScope(days=6))).effects.outlook
    assert outlook is not None
    days = [date(2026, 3, day) for day in (2, 3, 4)]
    assert outlook.contacts == {(day, "EMAIL"): 1 for day in days}
    assert outlook.held_back == {
        (days[0], HoldReason.GUARD_DAY): 2, (days[1], HoldReason.GUARD_DAY): 1,
    }  # fmt: skip
    assert (outlook.persons, outlook.claims) == (1, 3)


async def test_earlier_contacts_of_a_person_count_in_the_forecast(harness: Harness) -> None:
    await harness.create("INV-1", customerNumber="K-1")
    await harness.run()
    await harness.create("INV-2", customerNumber="K-1")
    await save(harness, steps=with_step(FEE, value="300"))
    outlook = (await preview(harness, PreviewScope(days=3))).effects.outlook
    assert outlook is not None
    assert outlook.contacts == {(date(2026, 3, 3), "EMAIL"): 1}


async def test_fees_are_added_up_for_each_debtor_and_the_highest_is_named(harness: Harness) -> None:
    await harness.create("INV-1", "INV-2", customerNumber="K-1")
    await harness.create("INV-3", customerNumber="K-2", email="other@example.org")
    await save(harness, steps=with_step(FEE, value="300"))
    outlook = (await preview(harness)).effects.outlook
    assert outlook is not None
    assert outlook.fee_sums == {600: 1, 300: 1}
    highest = max(outlook.highest_fees)
    assert (highest.cents, highest.fees, highest.claims) == (600, 2, 2)
    assert highest.reference_number == "INV-1"


async def test_unreachable_claims_include_those_with_suppressed_addresses(
    harness: Harness,
) -> None:
    await harness.create("INV-1", email=None)
    await harness.create("INV-2", email="stop@example.org")
    await harness.create("INV-3", email="other@example.org")
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "stop@example.org", "DEBTOR")
    await save(harness, steps=with_step(FEE, value="300"))
    outlook = (await preview(harness)).effects.outlook
    assert outlook is not None
    assert outlook.unreachable == 2
    assert sorted(outlook.unreachable_examples) == ["INV-1", "INV-2"]
    assert (outlook.missed_contacts, sum(outlook.contacts.values())) == (4, 2)


async def test_a_planned_contact_is_the_next_one_and_follows_the_new_hours(
    harness: Harness, clock: MovableClock
) -> None:
    await harness.create("INV-1")
    await Engine(harness.resources).run_once()
    evening = MONDAY + timedelta(hours=10)
    clock.move_to(evening)
    await save(harness, steps=with_step(EMAIL, send="IMMEDIATE"))
    [claim] = (await preview(harness)).effects.listed
    tuesday = datetime(2026, 3, 3, 8, tzinfo=UTC)
    assert read(claim)[2:] == ((tuesday, "EMAIL", 1), (evening, "EMAIL", 1))


async def test_claims_with_a_contact_in_doubt_are_counted_separately(harness: Harness) -> None:
    harness.channels[0].is_repeatable = False
    harness.channels[0].answers = [RuntimeError("away"), Accepted()]
    await harness.create("INV-1")
    await harness.run()
    await save(harness, steps=with_step(FEE, value="300"))
    assert (await preview(harness)).effects.counts == {ContactChangeKind.UNSETTLED: 1}


async def test_a_preview_writes_nothing_and_blocks_nothing(harness: Harness) -> None:
    await harness.create("INV-1")
    await save(harness, steps=with_step(FEE, value="300"))
    before = await harness.rows(_ALL)
    resources = harness.resources
    async with resources.database.transaction() as tx:
        # Another transaction has locked everything meanwhile.
        await tx.execute("SELECT FROM claims, merchants, workflows, workflow_versions FOR UPDATE")
        seen = await preview(harness)
    assert seen.effects.claims == 1
    assert await harness.rows(_ALL) == before


_ALL = """
SELECT (SELECT count(*) FROM audit_log WHERE merchant_id = $1), c.* FROM claims c
WHERE merchant_id = $1
"""


async def test_progress_is_reported_as_done_and_total_claims(harness: Harness) -> None:
    await harness.create(*(f"INV-{number}" for number in range(3)))
    await save(harness, steps=with_step(FEE, value="300"))
    steps: list[tuple[int, int]] = []
    await preview(harness, PreviewScope(progress=lambda *done: steps.append(done)))
    # The claims of the last person stay for the next page, which may contain more of them.
    assert steps == [(2, 3), (3, 3)]


async def test_pages_keep_the_claims_of_a_person_together(harness: Harness) -> None:
    persons = [0, 0, 0, 1, 2, 2, 3]
    for number, person in enumerate(persons):
        await harness.create(f"INV-{number}", customerNumber=f"K-{person}")
    resources = harness.resources
    async with resources.database.transaction() as tx:
        workflow = await get_workflow_by_name(tx, harness.merchant.merchant_id, "Standard")
        key = (workflow.workflow_id, 1)
        pages = [
            [claim.facts.reference_number for claim in page]
            async for page in iterate_persons(
                tx, resources.keys, harness.merchant, key, page_size=2
            )
        ]
    assert pages == [["INV-0", "INV-1", "INV-2"], ["INV-3"], ["INV-4", "INV-5"], ["INV-6"]]


async def test_a_preview_needs_a_draft_and_days_in_range(harness: Harness) -> None:
    with pytest.raises(InvalidState, match="no draft"):
        await preview(harness)
    await save(harness, steps=with_step(FEE, value="300"))
    with pytest.raises(ValidationError) as refusal:
        await preview(harness, PreviewScope(days=366))
    assert [fault.path for fault in refusal.value.faults] == ["/days"]
    assert (await preview(harness, PreviewScope(days=0))).effects.outlook is None
