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
from dunwell.contact.sending.batches.store import lock_waiting_letters
from dunwell.core.claims.claim_holds import resume_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.resources import Resources
from tests.support.backup_restore import Backup, back_up, restore
from tests.support.channels import ADDRESS
from tests.support.letter_harness import (
    PROVIDER,
    LetterHarness,
    a_harness_with_a_folder,
    write_status,
)

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
async def letter_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    """Return a harness in which one batch was released before."""
    letter_harness = await a_harness_with_a_folder(
        resources, clock, tmp_path / "letters", BatchSettings(every_minutes=60, most=3)
    )
    await letter_harness.create("A-0")
    advance_clock(letter_harness)
    await letter_harness.release()
    pick_up_files(letter_harness)
    # One letter a day, whatever the claim.
    advance_clock(letter_harness, days=1)
    yield letter_harness
    await letter_harness.adapter.close()


def advance_clock(letter_harness: LetterHarness, **by: float) -> None:
    letter_harness.harness.clock.advance(timedelta(**(by or {"hours": 1})))


def pick_up_files(letter_harness: LetterHarness, pattern: str = "*.*") -> list[str]:
    """Pick up what a manifest names, as the print service does, and return the names."""
    taken = [path for path in sorted(letter_harness.letter_folder.glob(pattern)) if path.is_file()]
    for path in taken:
        path.unlink()
    return [path.name for path in taken]


async def restore_an_hour_later(letter_harness: LetterHarness, backup: Backup) -> None:
    advance_clock(letter_harness)
    await restore(letter_harness.harness.resources, backup)
    advance_clock(letter_harness)


async def rows(letter_harness: LetterHarness, statement: str = _ITEMS) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await letter_harness.harness.rows(statement)]


async def declare(
    letter_harness: LetterHarness, actor: Actor = COMMAND_LINE, *, was_released: bool
) -> int:
    resources = letter_harness.harness.resources
    keys = await rows(letter_harness, _KEYS)
    async with resources.database.transaction() as tx:
        return await resolve_uncertain_letters(
            tx, actor, resources, provider=PROVIDER,
            keys=[(key[0], key[1]) for key in keys], was_released=was_released,
        )  # fmt: skip


async def release_all(letter_harness: LetterHarness) -> list[dict[str, Any]]:
    """Return the manifests that are released from now on."""
    for _ in range(4):
        await letter_harness.release()
        advance_clock(letter_harness)
    return letter_harness.manifests()


async def test_letters_released_after_the_backup_are_not_released_again(
    letter_harness: LetterHarness,
) -> None:
    """The service has picked up everything."""
    await letter_harness.create("A-1", "A-2")
    backup = await back_up(letter_harness.harness.resources)
    advance_clock(letter_harness)
    assert await letter_harness.release() == 2
    assert len(pick_up_files(letter_harness)) == 3
    await restore_an_hour_later(letter_harness, backup)
    assert await rows(letter_harness) == [_BATCHED, _WAITING, _WAITING]
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED] * 3
    assert await rows(letter_harness, _BATCHES) == [("RELEASED", 1, False), ("RELEASED", 2, True)]


async def test_letters_that_were_not_released_are_released_after_the_restore(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    await restore_an_hour_later(letter_harness, await back_up(letter_harness.harness.resources))
    (manifest,) = await release_all(letter_harness)
    assert manifest["head"]["letters"] == 1
    assert await rows(letter_harness) == [_BATCHED, ("BATCHED", None, True)]


async def test_letters_in_doubt_are_not_released_while_the_folder_is_unavailable(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    await restore_an_hour_later(letter_harness, await back_up(letter_harness.harness.resources))
    away = letter_harness.letter_folder.rename(letter_harness.letter_folder.with_name("away"))
    for _ in range(2):
        await letter_harness.release()
        advance_clock(letter_harness)
    assert await rows(letter_harness) == [_BATCHED, _WAITING]
    away.rename(letter_harness.letter_folder)
    assert len(await release_all(letter_harness)) == 1


async def test_a_letter_that_was_not_looked_up_yet_joins_no_batch(
    letter_harness: LetterHarness,
) -> None:
    """For example a letter that another worker hands over between the search and the choice."""
    await letter_harness.create("A-1")
    await restore_an_hour_later(letter_harness, await back_up(letter_harness.harness.resources))
    async with letter_harness.harness.resources.database.transaction() as tx:
        assert await lock_waiting_letters(tx, PROVIDER, 10) == []
    await letter_harness.release()
    assert await rows(letter_harness) == [_BATCHED, ("BATCHED", None, True)]


async def test_letters_wait_for_a_person_when_manifest_copies_are_missing(
    letter_harness: LetterHarness,
) -> None:
    """The folder of manifest copies was emptied."""
    await letter_harness.create("A-1")
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness, "released/*")
    await restore_an_hour_later(letter_harness, backup)
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED, ("WAITING", "UNCONFIRMED", False)]


async def test_a_broken_manifest_copy_proves_nothing(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1", "A-2", "A-3")
    backup = await back_up(letter_harness.harness.resources)
    await letter_harness.release()
    newest = max(letter_harness.letter_folder.glob("released/*"))
    newest.write_bytes(newest.read_bytes()[:-9])
    pick_up_files(letter_harness, "batch-*")
    await restore_an_hour_later(letter_harness, backup)
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED, *[("WAITING", "UNCONFIRMED", False)] * 3]


async def test_a_letter_whose_file_is_missing_waits_for_a_person(
    letter_harness: LetterHarness,
) -> None:
    """The file may be missing because the claim was paid and the letter withdrawn."""
    await letter_harness.create("A-1")
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness)
    await restore_an_hour_later(letter_harness, backup)
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED, ("WAITING", "MISSING", False)]


async def test_a_batch_only_planned_in_the_backup_counts_as_released_by_its_copy(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    await letter_harness.release()
    await set_batch_state(letter_harness, "DECIDED")
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness)
    await restore_an_hour_later(letter_harness, backup)
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED] * 2
    assert await rows(letter_harness, _BATCHES) == [("RELEASED", 1, False)] * 2


async def test_letters_whose_manifest_was_not_completed_before_the_loss_are_printed(
    letter_harness: LetterHarness,
) -> None:
    """The lost installation stopped between writing the copy and naming the manifest."""
    await letter_harness.create("A-1", "A-2", "A-3")
    backup = await back_up(letter_harness.harness.resources)
    await letter_harness.release()
    (path,) = letter_harness.letter_folder.glob("batch-*")
    path.rename(f"{path}.part")
    await restore_an_hour_later(letter_harness, backup)
    (manifest,) = await release_all(letter_harness)
    assert manifest["head"]["letters"] == 3
    assert await rows(letter_harness, _BATCHES) == [("RELEASED", 1, False), ("RELEASED", 3, True)]


async def test_a_contact_planned_in_the_backup_is_printed_once(
    letter_harness: LetterHarness,
) -> None:
    """It was sent and released in the lost time; a clerk resumes its claim without checking."""
    (claim,) = await letter_harness.harness.create("A-1", address=ADDRESS)
    await Engine(letter_harness.harness.resources).run_once()
    backup = await back_up(letter_harness.harness.resources)
    await letter_harness.harness.run()
    advance_clock(letter_harness)
    assert await letter_harness.release() == 1
    pick_up_files(letter_harness)
    await restore_an_hour_later(letter_harness, backup)
    advance_clock(letter_harness, days=1)
    async with letter_harness.harness.work() as work:
        await resume_claim(work, claim)
    await letter_harness.harness.run()
    assert await rows(letter_harness) == [_BATCHED, _WAITING]
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED] * 2


async def test_a_second_restore_is_checked_again(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    await restore_an_hour_later(letter_harness, await back_up(letter_harness.harness.resources))
    await letter_harness.release()
    pick_up_files(letter_harness)
    await set_batch_state(letter_harness, None)
    await restore_an_hour_later(letter_harness, await back_up(letter_harness.harness.resources))
    assert await rows(letter_harness) == [_BATCHED, _CLEARED]
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED, ("BATCHED", None, True)]


async def test_a_status_report_proves_that_a_letter_was_released(
    letter_harness: LetterHarness,
) -> None:
    """This also holds if a person was asked before the report arrived."""
    await letter_harness.create("A-1", "A-2")
    first = letter_harness.references()[0]
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness, "released/*")
    await restore_an_hour_later(letter_harness, backup)
    await letter_harness.release()
    letter_harness.write_status_file(
        "1.csv", write_status((first, "printed", "2026-03-04T10:00:00Z"))
    )
    await letter_harness.read_statuses()
    assert await release_all(letter_harness) == []
    assert sorted(await rows(letter_harness), key=str) == sorted(
        [_BATCHED, ("RELEASED", None, False), ("WAITING", "UNCONFIRMED", False)], key=str
    )


async def test_a_person_can_declare_letters_released(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1")
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness, "released/*")
    await restore_an_hour_later(letter_harness, backup)
    await letter_harness.release()
    assert await declare(letter_harness, was_released=True) == 1
    assert await declare(letter_harness, was_released=False) == 0
    assert await release_all(letter_harness) == []
    assert await rows(letter_harness) == [_BATCHED, ("RELEASED", None, False)]


async def test_a_person_can_declare_letters_not_released(letter_harness: LetterHarness) -> None:
    """Letters whose files exist are released; the others start their fallback."""
    await letter_harness.create("A-1", "A-2")
    backup = await back_up(letter_harness.harness.resources)
    pick_up_files(letter_harness, "released/*")
    pick_up_files(letter_harness, f"{letter_harness.references()[0]}.pdf")
    await restore_an_hour_later(letter_harness, backup)
    await letter_harness.release()
    assert await declare(letter_harness, was_released=False) == 2
    (manifest,) = await release_all(letter_harness)
    assert manifest["head"]["letters"] == 1
    await letter_harness.join()
    assert sorted(row[0] for row in await rows(letter_harness)) == [
        "BATCHED",
        "BATCHED",
        "TAKEN_BACK",
    ]
    assert [item[2] for item in await letter_harness.items() if item[0] == "TAKEN_BACK"] == [
        FILES_MISSING_REASON
    ]


async def test_only_an_operator_of_all_merchants_may_declare_it(
    letter_harness: LetterHarness,
) -> None:
    await letter_harness.create("A-1")
    with pytest.raises(InsufficientScope):
        await declare(letter_harness, Actor(ActorKind.USER, "x"), was_released=True)


async def test_old_manifest_copies_are_removed_except_the_newest(
    letter_harness: LetterHarness,
) -> None:
    """Only copies that are old enough, so that a restored database recognises that it is the only
    one."""
    await letter_harness.create("A-1")
    advance_clock(letter_harness)
    created_at = letter_harness.harness.clock.now()
    assert await letter_harness.release() == 1
    copies = letter_harness.files("released")
    releaser = BatchReleaser(
        letter_harness.harness.resources, lambda: letter_harness.delivery_providers
    )
    letter_harness.harness.clock.move_to(created_at + timedelta(days=30))
    assert await releaser.sweep() == 0
    advance_clock(letter_harness, milliseconds=1)
    assert await releaser.sweep() == 1
    assert letter_harness.files("released") == copies[1:]
    assert await releaser.sweep() == 0


async def set_batch_state(letter_harness: LetterHarness, state: str | None) -> None:
    """Set the newest batch to this state, or with None remove it so that its letters wait."""
    async with letter_harness.harness.resources.database.transaction() as tx:
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
