"""After a restore no letter is printed twice.

Letters released in the lost time are found by the copies of their manifests; where these prove
nothing, a person is asked.
"""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.accounts.merchants.actor import COMMAND_LINE, Actor, ActorKind
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.batches.after_restore.unconfirmed_letters import (
    FILES_MISSING_REASON,
    resolve_uncertain_letters,
)
from dunwell.contact.sending.batches.release_batches import BatchReleaser
from dunwell.contact.sending.batches.store import lock_waiting
from dunwell.core.claims.claim_holds import resume_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.resources import Resources
from tests.support.backup_restore import Backup, back_up, restore
from tests.support.channels import ADDRESS
from tests.support.letter_harness import LINE, LetterHarness, a_harness_with_a_folder, write_status

_ITEMS = """
SELECT state, doubt, cleared_at IS NOT NULL AS is_cleared FROM letter_batch_items
WHERE merchant_id = $1 ORDER BY communication_id
"""
_KEYS = "SELECT merchant_id, communication_id FROM letter_batch_items WHERE merchant_id = $1"
_BATCHES = """
SELECT state, letters, found_at IS NOT NULL AS is_found FROM letter_batches
WHERE $1 > 0 ORDER BY batch_id
"""
_WAITING, _CLEARED = ("WAITING", None, False), ("WAITING", None, True)
_BATCHED = ("BATCHED", None, False)


@pytest.fixture
async def post(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    """Return a harness in which one batch was released before."""
    post = await a_harness_with_a_folder(
        resources, clock, tmp_path / "letters", BatchSettings(every_minutes=60, most=3)
    )
    await post.create("A-0")
    advance_clock(post)
    await post.release()
    pick_up_files(post)
    # One letter a day, whatever the claim.
    advance_clock(post, days=1)
    yield post
    await post.adapter.close()


def advance_clock(post: LetterHarness, **by: float) -> None:
    post.harness.clock.advance(timedelta(**(by or {"hours": 1})))


def pick_up_files(post: LetterHarness, pattern: str = "*.*") -> list[str]:
    """Pick up what a manifest names, as the print service does, and return the names."""
    taken = [path for path in sorted(post.letter_folder.glob(pattern)) if path.is_file()]
    for path in taken:
        path.unlink()
    return [path.name for path in taken]


async def restore_an_hour_later(post: LetterHarness, backup: Backup) -> None:
    advance_clock(post)
    await restore(post.harness.resources, backup)
    advance_clock(post)


async def rows(post: LetterHarness, statement: str = _ITEMS) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await post.harness.rows(statement)]


async def declare(post: LetterHarness, actor: Actor = COMMAND_LINE, *, was_released: bool) -> int:
    resources = post.harness.resources
    keys = await rows(post, _KEYS)
    async with resources.database.transaction() as tx:
        return await resolve_uncertain_letters(
            tx, actor, resources, provider=LINE,
            keys=[(key[0], key[1]) for key in keys], was_released=was_released,
        )  # fmt: skip


async def release_all(post: LetterHarness) -> list[dict[str, Any]]:
    """Return the manifests that are released from now on."""
    for _ in range(4):
        await post.release()
        advance_clock(post)
    return post.manifests()


async def test_letters_released_after_the_backup_are_not_released_again(
    post: LetterHarness,
) -> None:
    """The service has picked up everything."""
    await post.create("A-1", "A-2")
    backup = await back_up(post.harness.resources)
    advance_clock(post)
    assert await post.release() == 2
    assert len(pick_up_files(post)) == 3
    await restore_an_hour_later(post, backup)
    assert await rows(post) == [_BATCHED, _WAITING, _WAITING]
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED] * 3
    assert await rows(post, _BATCHES) == [("RELEASED", 1, False), ("RELEASED", 2, True)]


async def test_letters_that_were_not_released_are_released_after_the_restore(
    post: LetterHarness,
) -> None:
    await post.create("A-1")
    await restore_an_hour_later(post, await back_up(post.harness.resources))
    (manifest,) = await release_all(post)
    assert manifest["head"]["letters"] == 1
    assert await rows(post) == [_BATCHED, ("BATCHED", None, True)]


async def test_letters_in_doubt_are_not_released_while_the_folder_is_unavailable(
    post: LetterHarness,
) -> None:
    await post.create("A-1")
    await restore_an_hour_later(post, await back_up(post.harness.resources))
    away = post.letter_folder.rename(post.letter_folder.with_name("away"))
    for _ in range(2):
        await post.release()
        advance_clock(post)
    assert await rows(post) == [_BATCHED, _WAITING]
    away.rename(post.letter_folder)
    assert len(await release_all(post)) == 1


async def test_a_letter_that_was_not_looked_up_yet_joins_no_batch(post: LetterHarness) -> None:
    """For example a letter that another worker hands over between the search and the choice."""
    await post.create("A-1")
    await restore_an_hour_later(post, await back_up(post.harness.resources))
    async with post.harness.resources.database.transaction() as tx:
        assert await lock_waiting(tx, LINE, 10) == []
    await post.release()
    assert await rows(post) == [_BATCHED, ("BATCHED", None, True)]


async def test_a_person_is_asked_when_manifest_copies_are_missing(post: LetterHarness) -> None:
    """The folder of manifest copies was emptied."""
    await post.create("A-1")
    backup = await back_up(post.harness.resources)
    pick_up_files(post, "released/*")
    await restore_an_hour_later(post, backup)
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED, ("WAITING", "UNCONFIRMED", False)]


async def test_a_broken_manifest_copy_proves_nothing(post: LetterHarness) -> None:
    await post.create("A-1", "A-2", "A-3")
    backup = await back_up(post.harness.resources)
    await post.release()
    newest = max(post.letter_folder.glob("released/*"))
    newest.write_bytes(newest.read_bytes()[:-9])
    pick_up_files(post, "batch-*")
    await restore_an_hour_later(post, backup)
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED, *[("WAITING", "UNCONFIRMED", False)] * 3]


async def test_a_person_is_asked_about_a_letter_whose_file_is_missing(post: LetterHarness) -> None:
    """For example because its claim was paid and the letter withdrawn."""
    await post.create("A-1")
    backup = await back_up(post.harness.resources)
    pick_up_files(post)
    await restore_an_hour_later(post, backup)
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED, ("WAITING", "MISSING", False)]


async def test_a_batch_only_planned_in_the_backup_counts_as_released_by_its_copy(
    post: LetterHarness,
) -> None:
    await post.create("A-1")
    advance_clock(post)
    await post.release()
    await set_batch_state(post, "DECIDED")
    backup = await back_up(post.harness.resources)
    pick_up_files(post)
    await restore_an_hour_later(post, backup)
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED] * 2
    assert await rows(post, _BATCHES) == [("RELEASED", 1, False)] * 2


async def test_letters_whose_manifest_was_not_completed_before_the_loss_are_printed(
    post: LetterHarness,
) -> None:
    """The lost installation stopped between writing the copy and naming the manifest."""
    await post.create("A-1", "A-2", "A-3")
    backup = await back_up(post.harness.resources)
    await post.release()
    (path,) = post.letter_folder.glob("batch-*")
    path.rename(f"{path}.part")
    await restore_an_hour_later(post, backup)
    (manifest,) = await release_all(post)
    assert manifest["head"]["letters"] == 3
    assert await rows(post, _BATCHES) == [("RELEASED", 1, False), ("RELEASED", 3, True)]


async def test_a_contact_planned_in_the_backup_is_printed_once(post: LetterHarness) -> None:
    """It was sent and released in the lost time; a clerk resumes its claim without checking."""
    (claim,) = await post.harness.create("A-1", address=ADDRESS)
    await Engine(post.harness.resources).run_once()
    backup = await back_up(post.harness.resources)
    await post.harness.run()
    advance_clock(post)
    assert await post.release() == 1
    pick_up_files(post)
    await restore_an_hour_later(post, backup)
    advance_clock(post, days=1)
    async with post.harness.work() as work:
        await resume_claim(work, claim)
    await post.harness.run()
    assert await rows(post) == [_BATCHED, _WAITING]
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED] * 2


async def test_a_second_restore_is_checked_again(post: LetterHarness) -> None:
    await post.create("A-1")
    await restore_an_hour_later(post, await back_up(post.harness.resources))
    await post.release()
    pick_up_files(post)
    await set_batch_state(post, None)
    await restore_an_hour_later(post, await back_up(post.harness.resources))
    assert await rows(post) == [_BATCHED, _CLEARED]
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED, ("BATCHED", None, True)]


async def test_a_status_report_proves_that_a_letter_was_released(post: LetterHarness) -> None:
    """Even if a person was asked before."""
    await post.create("A-1", "A-2")
    first = post.references()[0]
    backup = await back_up(post.harness.resources)
    pick_up_files(post, "released/*")
    await restore_an_hour_later(post, backup)
    await post.release()
    post.write_status_file("1.csv", write_status((first, "printed", "2026-03-04T10:00:00Z")))
    await post.read_statuses()
    assert await release_all(post) == []
    assert sorted(await rows(post), key=str) == sorted(
        [_BATCHED, ("RELEASED", None, False), ("WAITING", "UNCONFIRMED", False)], key=str
    )


async def test_a_person_can_declare_letters_released(post: LetterHarness) -> None:
    await post.create("A-1")
    backup = await back_up(post.harness.resources)
    pick_up_files(post, "released/*")
    await restore_an_hour_later(post, backup)
    await post.release()
    assert await declare(post, was_released=True) == 1
    assert await declare(post, was_released=False) == 0
    assert await release_all(post) == []
    assert await rows(post) == [_BATCHED, ("RELEASED", None, False)]


async def test_a_person_can_declare_letters_not_released(post: LetterHarness) -> None:
    """Letters whose files exist are released; the others start their fallback."""
    await post.create("A-1", "A-2")
    backup = await back_up(post.harness.resources)
    pick_up_files(post, "released/*")
    pick_up_files(post, f"{post.references()[0]}.pdf")
    await restore_an_hour_later(post, backup)
    await post.release()
    assert await declare(post, was_released=False) == 2
    (manifest,) = await release_all(post)
    assert manifest["head"]["letters"] == 1
    await post.join()
    assert sorted(row[0] for row in await rows(post)) == ["BATCHED", "BATCHED", "TAKEN_BACK"]
    assert [item[2] for item in await post.items() if item[0] == "TAKEN_BACK"] == [
        FILES_MISSING_REASON
    ]


async def test_only_an_operator_of_all_merchants_may_declare_it(post: LetterHarness) -> None:
    await post.create("A-1")
    with pytest.raises(InsufficientScope):
        await declare(post, Actor(ActorKind.USER, "x"), was_released=True)


async def test_old_manifest_copies_are_removed_except_the_newest(post: LetterHarness) -> None:
    """Only copies that are old enough, so that a restored database recognises that it is the only
    one."""
    await post.create("A-1")
    advance_clock(post)
    created_at = post.harness.clock.now()
    assert await post.release() == 1
    copies = post.files("released")
    releaser = BatchReleaser(post.harness.resources, lambda: post.delivery_providers)
    post.harness.clock.move_to(created_at + timedelta(days=30))
    assert await releaser.sweep() == 0
    advance_clock(post, milliseconds=1)
    assert await releaser.sweep() == 1
    assert post.files("released") == copies[1:]
    assert await releaser.sweep() == 0


async def set_batch_state(post: LetterHarness, state: str | None) -> None:
    """Set the newest batch to this state, or with None remove it so that its letters wait."""
    async with post.harness.resources.database.transaction() as tx:
        newest = await tx.fetchval("SELECT batch_id FROM letter_batches ORDER BY 1 DESC LIMIT 1")
        if state is None:
            await tx.execute(
                "UPDATE letter_batch_items SET state = 'WAITING', batch_id = NULL"
                " WHERE batch_id = $1", newest,
            )  # fmt: skip
            await tx.execute("DELETE FROM letter_batches WHERE batch_id = $1", newest)
        else:
            await tx.execute(
                "UPDATE letter_batches SET state = $2, released_at = NULL, lease_until = created_at"
                " WHERE batch_id = $1", newest, state,
            )  # fmt: skip
