"""A provider cannot change its folder while letters lie there.

So no letter is stranded, and no manifest is written to a folder without its letters.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import (
    BatchSettings,
    FolderProvider,
    describe_letter_location,
)
from dunwell.accounts.installation.installation_file import Installation
from dunwell.contact.sending.batches.manifest import BatchLetter
from dunwell.contact.sending.batches.store import begin_items
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.letter_harness import LetterHarness, a_harness_with_a_folder
from tests.support.waiting import wait_until_blocked

_CUT_BEHIND = (
    "UPDATE letter_batches SET state = 'WRITTEN', released_at = NULL, lease_until = created_at"
)


@pytest.fixture
async def letter_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    letter_harness = await a_harness_with_a_folder(resources, clock, tmp_path / "letters")
    yield letter_harness
    await letter_harness.adapter.close()


def advance_clock(letter_harness: LetterHarness) -> None:
    letter_harness.harness.clock.advance(timedelta(hours=1))


async def run(letter_harness: LetterHarness, statement: str) -> None:
    async with letter_harness.harness.resources.database.transaction() as tx:
        await tx.execute(statement)


@pytest.mark.parametrize("state", ["UPLOADING", "WAITING", "TAKING_BACK"])
async def test_a_provider_cannot_change_its_folder_until_its_letters_are_released(
    letter_harness: LetterHarness, state: str
) -> None:
    """Once the letters are released, the folder can be changed."""
    resources = letter_harness.harness.resources
    await apply_installation(
        resources,
        Installation(delivery_providers={"post": a_provider(letter_harness.letter_folder)}),
    )
    await letter_harness.create("A-1")
    await run(letter_harness, f"UPDATE letter_batch_items SET state = '{state}'")
    moved = Installation(
        delivery_providers={"post": a_provider(letter_harness.letter_folder.with_name("new"))}
    )
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, moved)
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/deliveryProviders/post", "IN_USE")
    ]
    await run(letter_harness, "UPDATE letter_batch_items SET state = 'WAITING'")
    advance_clock(letter_harness)
    await letter_harness.release()
    await apply_installation(resources, moved)


async def test_a_provider_cannot_change_its_folder_until_its_manifest_is_complete(
    letter_harness: LetterHarness,
) -> None:
    resources = letter_harness.harness.resources
    await apply_installation(
        resources,
        Installation(delivery_providers={"post": a_provider(letter_harness.letter_folder)}),
    )
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    await run(letter_harness, _CUT_BEHIND)
    with pytest.raises(ValidationError):
        await apply_installation(
            resources, Installation(delivery_providers={"post": a_provider(Path("/new"))})
        )
    advance_clock(letter_harness)
    await letter_harness.release()
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(Path("/new"))})
    )


async def test_other_settings_of_a_provider_can_change_while_letters_wait(
    letter_harness: LetterHarness,
) -> None:
    resources = letter_harness.harness.resources
    await apply_installation(
        resources,
        Installation(delivery_providers={"post": a_provider(letter_harness.letter_folder)}),
    )
    await letter_harness.create("A-1")
    other = a_provider(
        letter_harness.letter_folder, batch=BatchSettings(every_minutes=5), layout="c5-6"
    )
    await apply_installation(resources, Installation(delivery_providers={"post": other}))


async def test_no_letter_is_handed_over_to_the_former_folder(letter_harness: LetterHarness) -> None:
    """The worker has not read the new installation file yet."""
    new = Installation(
        delivery_providers={"post": a_provider(letter_harness.letter_folder.with_name("new"))}
    )
    await apply_installation(letter_harness.harness.resources, new)
    await letter_harness.create("A-1")
    assert await letter_harness.items() == []
    assert letter_harness.letters() == []
    old = Installation(delivery_providers={"post": a_provider(letter_harness.letter_folder)})
    await apply_installation(letter_harness.harness.resources, old)
    advance_clock(letter_harness)
    await letter_harness.harness.run()
    assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, None, False)]


async def test_changing_the_folder_waits_for_a_letter_that_is_being_handed_over(
    letter_harness: LetterHarness,
) -> None:
    """Neither transaction sees uncommitted rows of the other, so one must wait."""
    resources = letter_harness.harness.resources
    await apply_installation(
        resources,
        Installation(delivery_providers={"post": a_provider(letter_harness.letter_folder)}),
    )
    await letter_harness.create("A-1")
    async with resources.database.transaction() as tx:
        await tx.execute("UPDATE letter_batch_items SET state = 'TAKEN_BACK'")
    moved = Installation(
        delivery_providers={"post": a_provider(letter_harness.letter_folder.with_name("new"))}
    )
    async with resources.database.transaction() as tx:
        key = await tx.fetchrow("DELETE FROM letter_batch_items RETURNING *")
        letter = BatchLetter(key["reference"], "DE", 1, [])
        key_pair = (key["merchant_id"], key["communication_id"])
        place = describe_letter_location(a_provider(letter_harness.letter_folder))
        now = letter_harness.harness.clock.now()
        assert await begin_items(tx, "post", [(key_pair, letter)], location=place, real_now=now)
        moving = asyncio.create_task(apply_installation(resources, moved))
        await wait_until_blocked(resources.database, moving)
    with pytest.raises(ValidationError):
        await moving


def a_provider(folder: Path, **changes: Any) -> FolderProvider:
    return FolderProvider(channel="LETTER", folder=str(folder), **changes)
