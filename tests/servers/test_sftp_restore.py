"""The worker is repeatedly killed with SIGKILL and the database restored from a backup taken
meanwhile, while a print service removes what it receives. No letter is in two manifests, and none
is lost."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.adapters.channels.sftp.channel import SftpChannel
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.resources import Resources
from tests.servers.sshd import Sshd
from tests.support.backup_restore import back_up, restore, resume_paused_claims
from tests.support.channels import ADDRESS
from tests.support.letter_harness import PROVIDER, LetterHarness, a_letter_harness
from tests.support.print_files import list_letters
from tests.support.processes import a_process
from tests.support.worker_process import AheadClock

_ROUNDS, _LETTERS = 8, 120
# Longer than any lease, including that of a batch.
_AHEAD_SECONDS = 200
_OPEN = """
SELECT (SELECT count(*) FROM communications
        WHERE merchant_id = $1 AND state NOT IN ('ACCEPTED', 'UNKNOWN'))
     + (SELECT count(*) FROM letter_batch_items WHERE merchant_id = $1 AND state <> 'BATCHED')
     + (SELECT count(*) FROM letter_batches WHERE state <> 'RELEASED') AS count
"""
_RELEASED = "SELECT count(*) FROM letter_batches WHERE $1 > 0 AND state = 'RELEASED'"
_FOUND = "SELECT count(*) FROM letter_batches WHERE $1 > 0 AND found_at IS NOT NULL"


@dataclass
class PrintService:
    """A print service that moves manifests with their letters away and records the printed
    letters."""

    letter_folder: Path
    printed: list[str] = field(default_factory=list)

    def take(self) -> None:
        for path in sorted(self.letter_folder.glob("batch-*.json")):
            for letter in msgspec.json.decode(path.read_bytes())["letters"]:
                (self.letter_folder / letter["files"][0]["name"]).unlink(missing_ok=True)
                self.printed.append(letter["reference"])
            path.unlink()


@dataclass
class Installation:
    """Starts workers one after the other, each so much later that all earlier leases have
    expired."""

    resources: Resources
    letter_harness: LetterHarness
    arguments: tuple[str, ...]
    starts: int = 0

    @asynccontextmanager
    async def a_worker(self) -> AsyncIterator[None]:
        """Run a worker and kill it with SIGKILL at the end."""
        ahead = str(self.starts * _AHEAD_SECONDS)
        self.starts += 1
        module = "tests.support.letter_process"
        with a_process(self.resources.settings, module, ahead, *self.arguments):
            yield

    @property
    def late(self) -> Resources:
        """The resources of an operator's command that runs after the last worker."""
        return replace(
            self.resources, clock=AheadClock(timedelta(seconds=self.starts * _AHEAD_SECONDS))
        )

    async def until_more_are_released(self) -> None:
        """Return also if nothing is left to release."""
        before = await self.count(_RELEASED)
        async with asyncio.timeout(120):
            while await self.count(_RELEASED) == before and await self.count(_OPEN):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def count(self, statement: str) -> int:
        [row] = await self.letter_harness.harness.rows(statement)
        number: int = row["count"]
        return number


async def test_no_letter_is_printed_twice_after_restores(sshd: Sshd, resources: Resources) -> None:
    real = replace(resources, clock=SystemClock())
    provider = sshd.provider(batch=BatchSettings(every_minutes=1, most=10))
    adapter = SftpChannel(PROVIDER, provider, sshd.secrets, real)
    letter_harness = await a_letter_harness(
        real, MovableClock(datetime.now(UTC)), adapter, sshd.letter_folder
    )
    await adapter.close()
    await letter_harness.harness.create(*(f"A-{n}" for n in range(_LETTERS)), address=ADDRESS)
    while await Engine(real).run_once():
        pass
    arguments = (str(sshd.folder / "letters_key"), msgspec.json.encode(provider).decode())
    installation = Installation(real, letter_harness, arguments)
    service, rng = PrintService(sshd.letter_folder), random.Random(19)
    async with installation.a_worker():
        await installation.until_more_are_released()
    for number in range(_ROUNDS):
        async with installation.a_worker():
            await asyncio.sleep(rng.random())
        service.take()
        backup = await back_up(installation.late)
        async with installation.a_worker():
            # Otherwise the restore on a slow machine would lose no released batch.
            if number % 2 == 0:
                await installation.until_more_are_released()
            await asyncio.sleep(rng.random())
        service.take()
        await restore(installation.late, backup)
        letter_harness.harness.clock.move_to(installation.late.clock.now())
        await resume_paused_claims(letter_harness.harness)
    async with installation.a_worker(), asyncio.timeout(300):
        while await installation.count(_OPEN):  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.2)
    service.take()
    found = await installation.count(_FOUND)
    print(f"\nrestores: {_ROUNDS}, printed: {len(service.printed)}, batches found: {found}")
    assert found > 0
    assert len(service.printed) == len(set(service.printed)) == _LETTERS
    # Letters that were uploaded a second time remain, and no manifest names them.
    assert {name.removesuffix(".pdf") for name in list_letters(sshd.letter_folder)} <= set(
        service.printed
    )
