"""Each letter is listed in one manifest and printed once, unless its claim was paid before."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.folder.channel import LocalFolder
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
async def letter_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    letter_harness = await a_harness_with_a_folder(
        resources, clock, tmp_path / "letters", BatchSettings(every_minutes=60, most=3)
    )
    yield letter_harness
    await letter_harness.adapter.close()


def advance_clock(letter_harness: LetterHarness, by: timedelta = _HOUR) -> None:
    letter_harness.harness.clock.move_to(letter_harness.harness.clock.now() + by)


def remove_manifests(letter_harness: LetterHarness) -> None:
    """Remove the manifests as the print service does when it has read them."""
    for path in letter_harness.letter_folder.glob("batch-*"):
        path.unlink()


def forget_release(letter_harness: LetterHarness) -> None:
    """Restore the state before any file of a batch was written."""
    remove_manifests(letter_harness)
    for path in letter_harness.letter_folder.glob("released/*"):
        path.unlink()


def unfinish_manifests(letter_harness: LetterHarness) -> None:
    for path in letter_harness.letter_folder.glob("batch-*"):
        path.rename(f"{path}.part")


async def run(letter_harness: LetterHarness, statement: str) -> None:
    async with letter_harness.harness.resources.database.transaction() as tx:
        await tx.execute(statement)


async def test_letters_wait_for_their_batch(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1", "A-2")
    assert len(letter_harness.letters()) == 2
    advance_clock(letter_harness, timedelta(minutes=59))
    assert await letter_harness.release() == 0
    assert letter_harness.manifests() == []
    advance_clock(letter_harness, timedelta(minutes=1))
    assert await letter_harness.release() == 2
    (manifest,) = letter_harness.manifests()
    assert manifest["head"]["letters"] == 2
    assert manifest["head"]["line"] == "post"
    assert await letter_harness.release() == 0
    assert await letter_harness.items() == [("BATCHED", "ACCEPTED", None, None, False)] * 2


async def test_a_manifest_proves_each_letter(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    (manifest,) = letter_harness.manifests()
    (letter,) = manifest["letters"]
    ((name, content),) = list_letters(letter_harness.letter_folder).items()
    assert letter == {
        "reference": name.removesuffix(".pdf"),
        "country": "DE",
        "pages": 1,
        "files": [{"name": name, "sha256": digest(content), "pages": 1}],
    }


async def test_a_full_batch_is_released_before_the_hour(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1", "A-2", "A-3", "A-4")
    assert await letter_harness.release() == 3
    assert await letter_harness.release() == 0
    assert [each["head"]["letters"] for each in letter_harness.manifests()] == [3]


async def test_two_workers_list_each_letter_in_one_manifest(letter_harness: LetterHarness) -> None:
    await letter_harness.create(*(f"A-{n}" for n in range(9)))
    await asyncio.gather(*(letter_harness.release() for _ in range(4)))
    while await letter_harness.release():
        pass
    named = [each["reference"] for one in letter_harness.manifests() for each in one["letters"]]
    assert sorted(named) == sorted(letter_harness.references())


async def test_the_letter_of_a_paid_claim_is_withdrawn_before_release(
    letter_harness: LetterHarness,
) -> None:
    """The letter's file is deleted, its contact failed, and no fallback is started."""
    paid, _ = await letter_harness.create("A-1", "A-2")
    view = await letter_harness.harness.read(paid)
    await letter_harness.harness.pay(paid, view.balance.outstanding_cents)
    advance_clock(letter_harness)
    with capture_logs() as logs:
        assert await letter_harness.release() == 2
    assert [each["count"] for each in logs if each["event"] == "batch released"] == [1]
    assert await letter_harness.release() == 1
    await letter_harness.join()
    assert await letter_harness.items() == [
        ("TAKEN_BACK", "FAILED", WITHDRAWN_REASON, None, False),
        ("BATCHED", "ACCEPTED", None, None, False),
    ]
    (manifest,) = letter_harness.manifests()
    assert [each["reference"] for each in manifest["letters"]] == letter_harness.references()
    assert [each for each in letter_harness.harness.channels if each.sent] == []


async def test_the_letter_of_a_claim_paid_after_the_manifest_is_printed(
    letter_harness: LetterHarness,
) -> None:
    (claim,) = await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    view = await letter_harness.harness.read(claim)
    await letter_harness.harness.pay(claim, view.balance.outstanding_cents)
    advance_clock(letter_harness)
    assert await letter_harness.release() == 0
    assert len(letter_harness.letters()) == 1


async def test_a_batch_planned_by_a_dead_worker_is_planned_again(
    letter_harness: LetterHarness,
) -> None:
    """A claim that was paid in the meantime is withdrawn."""
    paid, _ = await letter_harness.create("A-1", "A-2")
    advance_clock(letter_harness)
    await letter_harness.release()
    await run(letter_harness, _CUT_BEFORE)
    forget_release(letter_harness)
    view = await letter_harness.harness.read(paid)
    await letter_harness.harness.pay(paid, view.balance.outstanding_cents)
    advance_clock(letter_harness)
    assert await letter_harness.release() == 2
    (manifest,) = letter_harness.manifests()
    assert manifest["head"]["letters"] == 1
    assert [tuple(row) for row in await letter_harness.harness.rows(_BATCHES)] == [
        ("RELEASED", 1, 1)
    ]


async def test_a_manifest_written_by_a_dead_worker_is_completed_unchanged(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    written = letter_harness.manifests()
    unfinish_manifests(letter_harness)
    await run(letter_harness, _CUT_BEHIND)
    advance_clock(letter_harness)
    await letter_harness.release()
    assert letter_harness.manifests() == written
    assert [tuple(row) for row in await letter_harness.harness.rows(_BATCHES)] == [
        ("RELEASED", 1, 1)
    ]


async def test_a_manifest_that_was_picked_up_is_not_written_again(
    letter_harness: LetterHarness,
) -> None:
    """The service picked it up under its final name; the worker died before recording that."""
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    remove_manifests(letter_harness)
    await run(letter_harness, _CUT_BEHIND)
    advance_clock(letter_harness)
    await letter_harness.release()
    assert letter_harness.manifests() == []
    assert [tuple(row) for row in await letter_harness.harness.rows(_BATCHES)] == [
        ("RELEASED", 1, 1)
    ]


async def test_letters_wait_while_the_folder_is_unavailable(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    with folder_unavailable(letter_harness.letter_folder):
        assert await letter_harness.release() == 0
        assert await letter_harness.items() == [("WAITING", "ACCEPTED", None, None, False)]
    assert await letter_harness.release() == 1


async def test_letters_that_were_never_completely_uploaded_are_deleted_after_two_days(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    await run(letter_harness, "UPDATE letter_batch_items SET state = 'UPLOADING'")
    advance_clock(letter_harness, timedelta(days=2))
    await letter_harness.release()
    assert len(await letter_harness.items()) == 1
    advance_clock(letter_harness, timedelta(microseconds=1))
    await letter_harness.release()
    assert letter_harness.letters() == []
    assert await letter_harness.items() == []


class UnfinishedLetterFolder(LocalFolder):
    """A folder whose server fails before a manifest gets its final name."""

    async def finish_part(self, name: str) -> None:
        raise ConnectionError(name)


async def test_the_lease_of_a_batch_lasts_three_minutes(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    provider = replace(
        letter_harness.adapter.print_provider,
        letter_folder=UnfinishedLetterFolder(letter_harness.letter_folder),
    )
    await BatchReleaser(letter_harness.harness.resources, lambda: {"post": provider}).run_once()
    advance_clock(letter_harness, timedelta(minutes=3) - timedelta(microseconds=1))
    await letter_harness.release()
    assert letter_harness.manifests() == []
    advance_clock(letter_harness, timedelta(microseconds=1))
    await letter_harness.release()
    assert len(letter_harness.manifests()) == 1


async def test_an_unavailable_folder_has_released_nothing(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    unfinish_manifests(letter_harness)
    await run(letter_harness, _CUT_BEHIND)
    advance_clock(letter_harness)
    away = letter_harness.letter_folder.rename(letter_harness.letter_folder.with_name("away"))
    assert await letter_harness.release() == 0
    assert [row["state"] for row in await letter_harness.harness.rows(_BATCHES)] == ["WRITTEN"]
    away.rename(letter_harness.letter_folder)
    advance_clock(letter_harness)
    await letter_harness.release()
    assert [row["state"] for row in await letter_harness.harness.rows(_BATCHES)] == ["RELEASED"]
    assert len(letter_harness.manifests()) == 1


async def test_a_provider_cannot_be_removed_until_its_letters_are_released(
    letter_harness: LetterHarness,
) -> None:
    resources = letter_harness.harness.resources
    provider = FolderProvider(channel="LETTER", folder=str(letter_harness.letter_folder))
    both = Installation(delivery_providers={"post": provider, "old": provider})
    await apply_installation(resources, both)
    await letter_harness.create("A-1")
    await run(letter_harness, "UPDATE letter_batch_items SET provider = 'old'")
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, Installation(delivery_providers={"post": provider}))
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/deliveryProviders/old", "IN_USE"),
    ]  # fmt: skip
    await run(letter_harness, "UPDATE letter_batch_items SET provider = 'post'")
    await apply_installation(resources, Installation(delivery_providers={"post": provider}))
