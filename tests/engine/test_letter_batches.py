"""Each letter is listed in one manifest and printed once, unless its claim was paid before."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.folder.channel import LocalLetterFolder
from dunwell.contact.sending.batches.release_batches import WITHDRAWN_REASON, BatchReleaser
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.letter_harness import LetterHarness, a_harness_with_a_folder
from tests.support.print_files import digest, folder_unavailable, list_letters

_BATCHES = "SELECT state, letters, pages FROM letter_batches WHERE $1 > 0 ORDER BY batch_id"
_CUT = "UPDATE letter_batches SET state = '{}', released_at = NULL, lease_until = created_at"
_CUT_BEFORE, _CUT_BEHIND = _CUT.format("DECIDED"), _CUT.format("WRITTEN")
_HOUR = timedelta(hours=1)


@pytest.fixture
async def post(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    post = await a_harness_with_a_folder(
        resources, clock, tmp_path / "letters", BatchSettings(every_minutes=60, most=3)
    )
    yield post
    await post.adapter.close()


def advance_clock(post: LetterHarness, by: timedelta = _HOUR) -> None:
    post.harness.clock.move_to(post.harness.clock.now() + by)


def remove_manifests(post: LetterHarness) -> None:
    """Remove the manifests as the print service does when it has read them."""
    for path in post.letter_folder.glob("batch-*"):
        path.unlink()


def forget_release(post: LetterHarness) -> None:
    """Restore the state before any file of a batch was written."""
    remove_manifests(post)
    for path in post.letter_folder.glob("released/*"):
        path.unlink()


def unfinish_manifests(post: LetterHarness) -> None:
    for path in post.letter_folder.glob("batch-*"):
        path.rename(f"{path}.part")


async def run(post: LetterHarness, statement: str) -> None:
    async with post.harness.resources.database.transaction() as tx:
        await tx.execute(statement)


async def test_letters_wait_for_their_batch(post: LetterHarness) -> None:
    await post.create("A-1", "A-2")
    assert len(post.letters()) == 2
    advance_clock(post, timedelta(minutes=59))
    assert await post.release() == 0
    assert post.manifests() == []
    advance_clock(post, timedelta(minutes=1))
    assert await post.release() == 2
    (manifest,) = post.manifests()
    assert manifest["head"]["letters"] == 2
    assert manifest["head"]["line"] == "post"
    assert await post.release() == 0
    assert await post.items() == [("BATCHED", "ACCEPTED", None, None, False)] * 2


async def test_a_manifest_proves_each_letter(post: LetterHarness) -> None:
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    (manifest,) = post.manifests()
    (letter,) = manifest["letters"]
    ((name, content),) = list_letters(post.letter_folder).items()
    assert letter == {
        "reference": name.removesuffix(".pdf"),
        "country": "DE",
        "pages": 1,
        "files": [{"name": name, "sha256": digest(content), "pages": 1}],
    }


async def test_a_full_batch_is_released_before_the_hour(post: LetterHarness) -> None:
    await post.create("A-1", "A-2", "A-3", "A-4")
    assert await post.release() == 3
    assert await post.release() == 0
    assert [each["head"]["letters"] for each in post.manifests()] == [3]


async def test_two_workers_list_each_letter_in_one_manifest(post: LetterHarness) -> None:
    await post.create(*(f"A-{n}" for n in range(9)))
    await asyncio.gather(*(post.release() for _ in range(4)))
    while await post.release():
        pass
    named = [each["reference"] for one in post.manifests() for each in one["letters"]]
    assert sorted(named) == sorted(post.references())


async def test_the_letter_of_a_paid_claim_is_withdrawn_before_release(post: LetterHarness) -> None:
    """The letter's file is deleted, its contact failed, and no fallback is started."""
    paid, _ = await post.create("A-1", "A-2")
    view = await post.harness.read(paid)
    await post.harness.pay(paid, view.balance.outstanding_cents)
    advance_clock(post)
    assert await post.release() == 2
    assert await post.release() == 1
    await post.join()
    assert await post.items() == [
        ("TAKEN_BACK", "FAILED", WITHDRAWN_REASON, None, False),
        ("BATCHED", "ACCEPTED", None, None, False),
    ]
    (manifest,) = post.manifests()
    assert [each["reference"] for each in manifest["letters"]] == post.references()
    assert [each for each in post.harness.channels if each.sent] == []


async def test_the_letter_of_a_claim_paid_after_the_manifest_is_printed(
    post: LetterHarness,
) -> None:
    (claim,) = await post.create("A-1")
    advance_clock(post)
    await post.release()
    view = await post.harness.read(claim)
    await post.harness.pay(claim, view.balance.outstanding_cents)
    advance_clock(post)
    assert await post.release() == 0
    assert len(post.letters()) == 1


async def test_a_batch_planned_by_a_dead_worker_is_planned_again(post: LetterHarness) -> None:
    """A claim that was paid in the meantime is withdrawn."""
    paid, _ = await post.create("A-1", "A-2")
    advance_clock(post)
    await post.release()
    await run(post, _CUT_BEFORE)
    forget_release(post)
    view = await post.harness.read(paid)
    await post.harness.pay(paid, view.balance.outstanding_cents)
    advance_clock(post)
    assert await post.release() == 2
    (manifest,) = post.manifests()
    assert manifest["head"]["letters"] == 1
    assert [tuple(row) for row in await post.harness.rows(_BATCHES)] == [("RELEASED", 1, 1)]


async def test_a_manifest_written_by_a_dead_worker_is_completed_unchanged(
    post: LetterHarness,
) -> None:
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    written = post.manifests()
    unfinish_manifests(post)
    await run(post, _CUT_BEHIND)
    advance_clock(post)
    await post.release()
    assert post.manifests() == written
    assert [tuple(row) for row in await post.harness.rows(_BATCHES)] == [("RELEASED", 1, 1)]


async def test_a_manifest_that_was_picked_up_is_not_written_again(post: LetterHarness) -> None:
    """The service picked it up under its final name; the worker died before recording that."""
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    remove_manifests(post)
    await run(post, _CUT_BEHIND)
    advance_clock(post)
    await post.release()
    assert post.manifests() == []
    assert [tuple(row) for row in await post.harness.rows(_BATCHES)] == [("RELEASED", 1, 1)]


async def test_letters_wait_while_the_folder_is_unavailable(post: LetterHarness) -> None:
    await post.create("A-1")
    advance_clock(post)
    with folder_unavailable(post.letter_folder):
        assert await post.release() == 0
        assert await post.items() == [("WAITING", "ACCEPTED", None, None, False)]
    assert await post.release() == 1


async def test_letters_that_were_never_completely_uploaded_are_deleted_after_two_days(
    post: LetterHarness,
) -> None:
    await post.create("A-1")
    await run(post, "UPDATE letter_batch_items SET state = 'UPLOADING'")
    advance_clock(post, timedelta(days=2))
    await post.release()
    assert len(await post.items()) == 1
    advance_clock(post, timedelta(microseconds=1))
    await post.release()
    assert post.letters() == []
    assert await post.items() == []


class UnfinishedLetterFolder(LocalLetterFolder):
    """A folder whose server fails before a manifest gets its final name."""

    async def finish_part(self, name: str) -> None:
        raise ConnectionError(name)


async def test_the_lease_of_a_batch_lasts_three_minutes(post: LetterHarness) -> None:
    await post.create("A-1")
    advance_clock(post)
    provider = replace(
        post.adapter.print_provider, letter_folder=UnfinishedLetterFolder(post.letter_folder)
    )
    await BatchReleaser(post.harness.resources, lambda: {"post": provider}).run_once()
    advance_clock(post, timedelta(minutes=3) - timedelta(microseconds=1))
    await post.release()
    assert post.manifests() == []
    advance_clock(post, timedelta(microseconds=1))
    await post.release()
    assert len(post.manifests()) == 1


async def test_an_unavailable_folder_has_released_nothing(post: LetterHarness) -> None:
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    unfinish_manifests(post)
    await run(post, _CUT_BEHIND)
    advance_clock(post)
    away = post.letter_folder.rename(post.letter_folder.with_name("away"))
    assert await post.release() == 0
    assert [row["state"] for row in await post.harness.rows(_BATCHES)] == ["WRITTEN"]
    away.rename(post.letter_folder)
    advance_clock(post)
    await post.release()
    assert [row["state"] for row in await post.harness.rows(_BATCHES)] == ["RELEASED"]
    assert len(post.manifests()) == 1


async def test_a_provider_cannot_be_removed_until_its_letters_are_released(
    post: LetterHarness,
) -> None:
    resources = post.harness.resources
    provider = FolderProvider(channel="LETTER", folder=str(post.letter_folder))
    both = Installation(delivery_providers={"post": provider, "old": provider})
    await apply_installation(resources, both)
    await post.create("A-1")
    await run(post, "UPDATE letter_batch_items SET provider = 'old'")
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, Installation(delivery_providers={"post": provider}))
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/deliveryProviders/old", "IN_USE"),
    ]  # fmt: skip
    await run(post, "UPDATE letter_batch_items SET provider = 'post'")
    await apply_installation(resources, Installation(delivery_providers={"post": provider}))
