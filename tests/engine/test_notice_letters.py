"""An answer by letter uses the merchant's provider, its layout and one manifest.

It fails when the debtor's name cannot be printed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.adapters.channels.folder.channel import FolderChannel
from dunwell.contact.sending.batches.release_batches import BatchReleaser
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.children import PRINTER
from tests.support.disputes import REJECTED, answer, dispute
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.letters import PrintedLetter
from tests.support.notices import WITH_SMS
from tests.support.print_files import list_letters, list_manifests

ADDRESS = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln", "country": "DE"}
_MISSING = "No font of this installation supports characters of these scripts: Han."
_NOTICES = """
SELECT state, failure FROM debtor_notices WHERE merchant_id = $1 AND channel = 'LETTER'
"""


async def a_disputed_claim(
    resources: Resources, clock: MovableClock, lines: Mapping[str, Any], **fields: Any
) -> tuple[Harness, Any]:
    """Return a harness with a dispute; letters go to the provider "post" if `lines` has one, and
    otherwise to the outbox."""
    setup = ChannelSetup(provider="post") if lines else ChannelSetup(adapter="outbox")
    by_post = msgspec.structs.replace(WITH_SMS, channels=WITH_SMS.channels | {"LETTER": setup})
    channels = [ScriptedChannel(channel=each) for each in ("EMAIL", "SMS", "LETTER")]
    harness = await a_harness(
        resources,
        clock,
        None,
        configuration=by_post,
        channels=channels,
        delivery_providers=dict(lines),
    )
    [claim_id] = await harness.create(**{"email": None, "address": ADDRESS} | fields)
    return harness, await dispute(harness, claim_id)


async def print_answer(
    resources: Resources, clock: MovableClock, folder: Path, layout: Any
) -> PrintedLetter:
    provider = FolderProvider(
        channel="LETTER",
        folder=str(folder),
        layout=layout,
        batch=BatchSettings(every_minutes=1, most=1),
    )
    adapter = FolderChannel("post", provider, resources, PRINTER)
    harness, opened = await a_disputed_claim(resources, clock, {"post": adapter})
    await answer(harness, opened, REJECTED, message="Der Gutschein war abgelaufen.")
    await BatchReleaser(resources, lambda: {"post": adapter.print_provider}).run_once()
    await adapter.close()
    (name,) = list_letters(folder)
    (manifest,) = list_manifests(folder)
    assert [f"{each['reference']}.pdf" for each in manifest["letters"]] == [name]
    return PrintedLetter(folder / name)


@pytest.mark.parametrize(("layout", "top"), [("din-5008-b", 67), ("din-5008-a", 49)])
async def test_a_notice_letter_has_the_layout_of_its_provider(
    resources: Resources, clock: MovableClock, tmp_path: Path, layout: str, top: float
) -> None:
    """The address window of form A is 18 mm higher than that of form B."""
    printed = await print_answer(resources, clock, tmp_path, layout)
    (street,) = [word for word in printed.words() if word.text == "Heidestraße"]
    assert street.top == pytest.approx(top, abs=1)


async def test_a_notice_letter_fails_when_the_name_cannot_be_printed(
    resources: Resources, clock: MovableClock
) -> None:
    """No other channel is left, and no letter is printed with boxes instead of a name."""
    harness, opened = await a_disputed_claim(
        resources, clock, {}, debtorName="小明", debtorLastName="王"
    )
    await answer(harness, opened, REJECTED, message="Nein.")
    assert [each.sent for each in harness.channels] == [[], [], []]
    [row] = await harness.rows(_NOTICES)
    assert row["state"] == "FAILED"
    assert row["failure"] == _MISSING
