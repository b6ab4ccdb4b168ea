"""Files of merchants and debtors, and letters, while the disk is full: nothing is half stored, the
refusal comes at once, and everything continues once there is space."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from dunwell.adapters.channels.outbox.channel import OutboxLetter
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Accepted
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.resources import Resources
from tests.support.api import Api
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.claims import a_claim
from tests.support.debtor_disputes import (
    disputes,
    files,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.files import a_pdf, an_image
from tests.support.harness import Harness, ScriptedChannel
from tests.support.landing import LandingHarness
from tests.support.small_disk import SmallDisk, a_small_disk

_MEGABYTES = 2
_STATES = "SELECT state FROM communications WHERE merchant_id = $1"


@pytest.fixture
def disk(settings: Settings) -> Iterator[SmallDisk]:
    """The disk that stores uploads and letters."""
    with a_small_disk(settings.data_dir / "files", _MEGABYTES) as disk:
        yield disk


@pytest.fixture
def outbox_disk(settings: Settings) -> Iterator[SmallDisk]:
    with a_small_disk(settings.data_dir / "outbox", _MEGABYTES) as disk:
        yield disk


async def test_a_merchants_upload_is_refused_while_the_disk_is_full(
    api: Api, disk: SmallDisk, clock: MovableClock
) -> None:
    disk.fill()
    refused = await api.nordwind.upload("invoice.pdf", a_pdf())
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    assert "file storage" in refused.json()["error"]["message"]
    assert disk.list_files() == []

    disk.make_room()
    taken = (await api.nordwind.upload("invoice.pdf", a_pdf())).json()["result"]["ticketId"]
    naming = [{"sourceType": "TICKET", "source": taken}]
    created = await api.nordwind.post("/claims", [a_claim("A-1", attachments=naming)])
    assert created.json()["result"][0]["error"] is None
    assert len(disk.list_files()) == 1
    # The refused upload left a row, which is used to find remaining content.
    assert await api.count("uploads") == 2
    clock.advance(timedelta(hours=1, minutes=1))
    await Housekeeping(api.resources, SealedFiles.open(api.resources)).run_once()
    assert await api.count("uploads") == len(disk.list_files()) == 1


async def test_a_debtors_file_is_refused_and_the_entered_text_is_kept(
    landing: LandingHarness, disk: SmallDisk
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    disk.fill()
    page = await landing.browser.send(
        path, [("b.png", an_image("PNG"))], do="send", message="See there"
    )
    assert "We cannot accept “b.png” at the moment." in page.text
    assert "\nSee there</textarea>" in page.text
    assert (await disputes(landing), disk.list_files()) == ([], [])

    disk.make_room()
    await landing.browser.send(path, [("b.png", an_image("PNG"))], do="send", message="See there")
    assert await files(landing) == [("b.png", "image/png")]


async def test_remaining_content_of_a_debtors_file_is_removed_after_an_hour(
    landing: LandingHarness, disk: SmallDisk, clock: MovableClock
) -> None:
    """Longer than the session lasts, which was opened some minutes earlier."""
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    clock.advance(timedelta(minutes=10))
    disk.fill()
    await landing.browser.send(path, [("b.png", an_image("PNG"))], do="keep", message="See")
    [left] = await landing.payments.harness.rows("SELECT * FROM uploads WHERE merchant_id = $1")
    assert left["expires_at"] == clock.now() + timedelta(hours=1)


async def _a_letter(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    return harness


async def _states(harness: Harness) -> list[str]:
    return [row["state"] for row in await harness.rows(_STATES)]


async def test_a_letter_that_cannot_be_stored_is_sent_once_a_minute_later(
    resources: Resources, clock: MovableClock, disk: SmallDisk
) -> None:
    harness = await _a_letter(resources, clock)
    channel = ScriptedChannel(channel="LETTER", answers=[Accepted()])
    dispatcher = MessageDispatcher(resources, [channel])
    disk.fill()
    for _ in range(3):
        await dispatcher.run_merchant(harness.merchant.merchant_id)
        clock.advance(timedelta(minutes=1))
    assert (await _states(harness), channel.sent, disk.list_files()) == (["PLANNED"], [], [])

    disk.make_room()
    for _ in range(3):
        await dispatcher.run_merchant(harness.merchant.merchant_id)
        clock.advance(timedelta(minutes=1))
    await dispatcher.close()
    assert (await _states(harness), len(channel.sent)) == (["ACCEPTED"], 1)
    assert len(disk.list_files()) == 1


async def test_a_letter_that_does_not_fit_into_the_outbox_is_written_once_later(
    resources: Resources, clock: MovableClock, outbox_disk: SmallDisk
) -> None:
    harness = await _a_letter(resources, clock)
    outbox = OutboxLetter(resources.settings.data_dir, is_development=True)
    dispatcher = MessageDispatcher(resources, [outbox])
    outbox_disk.fill()
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    assert (await _states(harness), outbox_disk.list_files()) == (["PLANNED"], [])

    outbox_disk.make_room()
    for _ in range(3):
        clock.advance(timedelta(minutes=1))
        await dispatcher.run_merchant(harness.merchant.merchant_id)
    await dispatcher.close()
    assert await _states(harness) == ["ACCEPTED"]
    assert sorted(each.suffix for each in outbox_disk.list_files()) == [".json", ".pdf"]
