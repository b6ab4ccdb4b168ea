"""The secret key is rotated while claims are being processed.

Contact limits and suppressions hold, every link opens, and the ledger verifies across both
versions.
"""

import asyncio
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.claim_links import derive_token, hash_token
from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.contact.messages.ledger.verify_ledger import verify_ledger
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.suppression import (
    lift_suppression,
    list_all_suppressions,
    load_suppressed_addresses,
    suppress,
)
from dunwell.core.files.storage import Storage
from dunwell.operations.keys.reseal import Resealer
from dunwell.operations.keys.sealed_files import SealedLetters
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import parse_key_version
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.guards import a_guarded_harness, contact_days, held_contacts
from tests.support.harness import Harness, ScriptedChannel
from tests.support.keys import harness_with_versions, with_versions
from tests.support.ledgers import seal_and_verify, tamper

ERIKA = "erika@example.org"
# Before a rotation; with the new version known to every process; with the new version in use.
BEFORE, KNOWN, IN_USE = (1,), (1, 2), (2, 1)
_LETTER = """
SELECT document_key, document_key_version FROM communication_contents WHERE merchant_id = $1
"""
_UNSEAL = "UPDATE {table} SET seal = NULL, digest = NULL WHERE merchant_id = $1 AND seal = 2"
_NUMBER = "UPDATE ledger_seals SET key_version = $2 WHERE merchant_id = $1 AND seal = 1"
_LINKS = "SELECT token_hash FROM debtor_links WHERE merchant_id = $1"


@pytest.mark.parametrize(
    ("first", "second"), [*permutations([BEFORE, KNOWN]), *permutations([KNOWN, IN_USE]),
                          (BEFORE, IN_USE), (IN_USE, BEFORE)],
)  # fmt: skip
async def test_a_person_is_contacted_once_a_day_whichever_key_version_is_used(
    resources: Resources, clock: MovableClock, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness_with_versions(harness, *first).create("A", email=ERIKA)
    await harness_with_versions(harness, *first).run()
    await harness.create("B", email=ERIKA)
    await harness_with_versions(harness, *second).run()
    assert len(harness.channels[0].sent) == 1
    assert [held for held, _ in await held_contacts(harness)] == ["GUARD_DAY"]


async def test_two_processes_with_different_key_versions_make_one_contact(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create("A", email=ERIKA)
    await harness.create("B", email=ERIKA)
    while await Engine(resources).run_once():
        pass
    old, new = (harness_with_versions(harness, *each) for each in (KNOWN, IN_USE))
    await asyncio.gather(old.run(), new.run())
    assert len(harness.channels[0].sent) == 1
    assert [len(days) for days in await contact_days(harness)] == [1, 1]


async def add_suppression(harness: Harness) -> bool:
    async with harness.work() as work:
        return await suppress(work, harness.resources.keys, "EMAIL", ERIKA, "DEBTOR")


async def is_suppressed(work: Work, harness: Harness) -> bool:
    keys = harness.resources.keys
    return bool(
        await load_suppressed_addresses(work.tx, keys, work.merchant_id, [("EMAIL", ERIKA)])
    )


@pytest.mark.parametrize(
    ("first", "second"), [(BEFORE, KNOWN), (BEFORE, IN_USE), (KNOWN, IN_USE), (IN_USE, KNOWN)]
)
async def test_a_suppression_applies_under_every_key_version(
    resources: Resources, clock: MovableClock, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    harness = await a_guarded_harness(resources, clock)
    [before, after] = [harness_with_versions(harness, *each) for each in (first, second)]
    assert await add_suppression(before)
    await after.create("A", email=ERIKA)
    await after.run()
    assert harness.channels[0].sent == []
    assert not await add_suppression(after)
    async with after.work() as work:
        assert len(await list_all_suppressions(work.tx, work.merchant_id)) == 1
        assert await is_suppressed(work, after)
        await lift_suppression(work, after.resources.keys, "EMAIL", ERIKA)
        assert not await is_suppressed(work, after)
        assert await list_all_suppressions(work.tx, work.merchant_id) == []


async def test_a_suppression_between_planning_and_sending_holds(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create("A", email=ERIKA)
    while await Engine(resources).run_once():
        pass
    await add_suppression(harness)
    await harness_with_versions(harness, *IN_USE).run()
    assert harness.channels[0].sent == []


async def test_a_message_repeated_after_the_rotation_keeps_its_link(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    sent_messages = SentMessages()
    worker = MessageDispatcher(resources, [GatedChannel(sent_messages, "EMAIL", asyncio.Event())])
    sending = asyncio.create_task(worker.run_merchant(harness.merchant.merchant_id))
    async with asyncio.timeout(20):
        while not sent_messages.calls:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    clock.advance(timedelta(minutes=10))
    channel, rotated = ScriptedChannel(), with_versions(resources, *IN_USE)
    await MessageDispatcher(rotated, [channel]).run_merchant(harness.merchant.merchant_id)
    [message] = channel.sent
    token = derive_token(resources.keys, message.communication_id)
    assert token in message.body_text
    assert [row["token_hash"] for row in await harness.rows(_LINKS)] == [hash_token(token)]


async def contact(harness: Harness, reference: str, *versions: int) -> None:
    served = harness_with_versions(harness, *versions)
    await served.create(reference, email=f"{reference.lower()}@example.org")
    await served.run()
    await seal_ledger(served.resources)


async def test_the_ledger_verifies_across_key_versions(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    for number, versions in enumerate([BEFORE, KNOWN, IN_USE, KNOWN, IN_USE, (3, 2, 1)]):
        await contact(harness, f"INV-{number}", *versions)
    rows = await harness.rows("SELECT key_version FROM ledger_seals WHERE merchant_id = $1")
    assert sorted(row[0] for row in rows) == [1, 1, 2, 2, 2, 3]
    verdict = await seal_and_verify(harness_with_versions(harness, 3, 2, 1))
    assert (verdict.findings, verdict.is_sound) == ((), True)


async def faults(harness: Harness, *versions: int) -> set[str]:
    resources = with_versions(harness.resources, *versions)
    verdict = await verify_ledger(resources, harness.merchant.merchant_id)
    return {str(finding.fault) for finding in verdict.findings}


async def test_seals_of_a_missing_key_version_are_reported(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await contact(harness, "INV-1", *BEFORE)
    await contact(harness, "INV-2", *IN_USE)
    assert await faults(harness, *IN_USE) == set()
    assert await faults(harness, 2) == {"SEAL_ALTERED", "CONTENT_ALTERED"}
    assert await faults(harness, 1) == {"SEAL_ALTERED", "CONTENT_ALTERED"}


async def test_an_old_key_version_cannot_forge_the_last_seal(
    resources: Resources, clock: MovableClock
) -> None:
    """The attacker has the leaked key and the database, and writes the last seal again with the old
    version."""
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await contact(harness, "INV-1", *IN_USE)
    await contact(harness, "INV-2", *IN_USE)
    for table in ("contact_ledger", "audit_log"):
        await tamper(harness, _UNSEAL.format(table=table))
    await tamper(harness, "DELETE FROM ledger_seals WHERE merchant_id = $1 AND seal = 2")
    await tamper(harness, "UPDATE ledger_seals SET key_version = 1 WHERE merchant_id = $1")
    await seal_ledger(with_versions(resources, *BEFORE))
    await tamper(
        harness, "UPDATE ledger_seals SET key_version = 2 WHERE merchant_id = $1 AND seal = 1"
    )
    assert await faults(harness, *IN_USE) == {"SEAL_ALTERED"}


async def reseal(resources: Resources, *, rounds: int = 100) -> None:
    storage = Storage.open(resources.settings.files_url)
    resealer = Resealer(resources, [SealedLetters(storage)])
    while rounds and await resealer.run_once():
        rounds -= 1


async def open_letter(resources: Resources, key: str) -> tuple[int, bytes]:
    """Return the key version that encrypts the letter, and the PDF."""
    files = LetterFiles.open(resources)
    try:
        return parse_key_version(await files.storage.load(key)), await files.load_letter(key)
    finally:
        await files.close()


async def letter_of(harness: Harness) -> tuple[str, int]:
    [row] = await harness.rows(_LETTER)
    return tuple(row)


async def a_harness_with_a_letter(
    resources: Resources, clock: MovableClock, **given: Any
) -> Harness:
    harness = await a_harness_with_channels(resources, clock, "LETTER", **given)
    await harness.create(**REACHABLE)
    await harness.run()
    return harness


async def test_letters_can_be_opened_before_during_and_after_reencryption(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_a_letter(resources, clock)
    known, rotated = (with_versions(resources, *each) for each in (KNOWN, IN_USE))
    key, version = await letter_of(harness)
    before = await open_letter(resources, key)
    assert (version, before[0]) == (1, 1)
    await reseal(known)
    assert await letter_of(harness) == (key, 1)
    await reseal(rotated)
    assert await letter_of(harness) == (key, 2)
    for each in (known, rotated):
        assert await open_letter(each, key) == (2, before[1])
    # A process that still uses the old version does not undo the re-encryption.
    await reseal(known)
    assert await letter_of(harness) == (key, 2)


class DyingStorage(Storage):
    """A process that dies after it wrote the letter and before it updated the row."""

    async def save(self, key: str, content: bytes) -> None:
        await super().save(key, content)
        raise KeyboardInterrupt


async def test_a_letter_reencrypted_by_a_worker_that_died_opens_and_is_completed(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_a_letter(resources, clock)
    rotated = with_versions(resources, *IN_USE)
    key, _ = await letter_of(harness)
    before = await open_letter(resources, key)
    dying = DyingStorage.open(resources.settings.files_url)
    with pytest.raises(KeyboardInterrupt):
        await Resealer(rotated, [SealedLetters(dying)]).run_once()
    assert await letter_of(harness) == (key, 1)
    assert await open_letter(rotated, key) == (2, before[1])
    await reseal(rotated)
    assert await letter_of(harness) == (key, 2)


class ErasingStorage(Storage):
    """A storage during whose write the claim of the letter is erased."""

    harness: Harness

    async def save(self, key: str, content: bytes) -> None:
        await self.harness.rows("DELETE FROM communication_contents WHERE merchant_id = $1")
        await super().save(key, content)


async def test_an_erased_claims_letter_does_not_come_back(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_a_letter(resources, clock)
    key, _ = await letter_of(harness)
    erasing = ErasingStorage.open(resources.settings.files_url)
    erasing.harness = harness
    await Resealer(with_versions(resources, *IN_USE), [SealedLetters(erasing)]).run_once()
    path = resources.settings.data_dir / "files" / key
    assert path.parent.is_dir()
    assert not path.exists()
