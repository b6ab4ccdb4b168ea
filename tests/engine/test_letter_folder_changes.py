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
from tests.support.waiting import until_held_back

_CUT_BEHIND = (
    "UPDATE letter_batches SET state = 'WRITTEN', released_at = NULL, lease_until = created_at"
)


@pytest.fixture
async def post(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    post = await a_harness_with_a_folder(resources, clock, tmp_path / "letters")
    yield post
    await post.adapter.close()


def advance_clock(post: LetterHarness) -> None:
    post.harness.clock.advance(timedelta(hours=1))


async def run(post: LetterHarness, statement: str) -> None:
    async with post.harness.resources.database.transaction() as tx:
        await tx.execute(statement)


@pytest.mark.parametrize("state", ["UPLOADING", "WAITING", "TAKING_BACK"])
async def test_a_provider_cannot_change_its_folder_until_its_letters_are_released(
    post: LetterHarness, state: str
) -> None:
    """After they were released, it can."""
    resources = post.harness.resources
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(post.letter_folder)})
    )
    await post.create("A-1")
    await run(post, f"UPDATE letter_batch_items SET state = '{state}'")
    moved = Installation(
        delivery_providers={"post": a_provider(post.letter_folder.with_name("new"))}
    )
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, moved)
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/deliveryProviders/post", "IN_USE")
    ]
    await run(post, "UPDATE letter_batch_items SET state = 'WAITING'")
    advance_clock(post)
    await post.release()
    await apply_installation(resources, moved)


async def test_a_provider_cannot_change_its_folder_until_its_manifest_is_complete(
    post: LetterHarness,
) -> None:
    resources = post.harness.resources
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(post.letter_folder)})
    )
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    await run(post, _CUT_BEHIND)
    with pytest.raises(ValidationError):
        await apply_installation(
            resources, Installation(delivery_providers={"post": a_provider(Path("/new"))})
        )
    advance_clock(post)
    await post.release()
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(Path("/new"))})
    )


async def test_other_settings_of_a_provider_can_change_while_letters_wait(
    post: LetterHarness,
) -> None:
    resources = post.harness.resources
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(post.letter_folder)})
    )
    await post.create("A-1")
    other = a_provider(post.letter_folder, batch=BatchSettings(every_minutes=5), layout="c5-6")
    await apply_installation(resources, Installation(delivery_providers={"post": other}))


async def test_no_letter_is_handed_over_to_the_former_folder(post: LetterHarness) -> None:
    """The worker has not read the new installation file yet."""
    new = Installation(delivery_providers={"post": a_provider(post.letter_folder.with_name("new"))})
    await apply_installation(post.harness.resources, new)
    await post.create("A-1")
    assert await post.items() == []
    assert post.letters() == []
    old = Installation(delivery_providers={"post": a_provider(post.letter_folder)})
    await apply_installation(post.harness.resources, old)
    advance_clock(post)
    await post.harness.run()
    assert await post.items() == [("WAITING", "ACCEPTED", None, None, False)]


async def test_changing_the_folder_waits_for_a_letter_that_is_being_handed_over(
    post: LetterHarness,
) -> None:
    """Neither transaction sees uncommitted rows of the other, so one must wait."""
    resources = post.harness.resources
    await apply_installation(
        resources, Installation(delivery_providers={"post": a_provider(post.letter_folder)})
    )
    await post.create("A-1")
    async with resources.database.transaction() as tx:
        await tx.execute("UPDATE letter_batch_items SET state = 'TAKEN_BACK'")
    moved = Installation(
        delivery_providers={"post": a_provider(post.letter_folder.with_name("new"))}
    )
    async with resources.database.transaction() as tx:
        key = await tx.fetchrow("DELETE FROM letter_batch_items RETURNING *")
        letter = BatchLetter(key["reference"], "DE", 1, [])
        begun = (key["merchant_id"], key["communication_id"])
        place = describe_letter_location(a_provider(post.letter_folder))
        now = post.harness.clock.now()
        assert await begin_items(tx, "post", [(begun, letter)], location=place, real_now=now)
        moving = asyncio.create_task(apply_installation(resources, moved))
        await until_held_back(resources.database, moving)
    with pytest.raises(ValidationError):
        await moving


def a_provider(folder: Path, **changes: Any) -> FolderProvider:
    return FolderProvider(channel="LETTER", folder=str(folder), **changes)
