"""A worker that renders letters, uploads them by SFTP, releases batches and reads status files. A
test kills it at work.

Arguments: the number of seconds that its clock is ahead, so that leases of a killed worker have
expired; the file with the private key of the delivery provider; the delivery provider as JSON.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

import msgspec

from dunwell.accounts.installation.delivery_providers import SftpProvider
from dunwell.adapters.channels.sftp.channel import SftpChannel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.contact.sending.batches.read_statuses import StatusFileReader
from dunwell.contact.sending.batches.release_batches import BatchReleaser
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.letter_harness import PROVIDER
from tests.support.worker_process import AheadClock


async def main(ahead_seconds: float, key: Path, provider: SftpProvider) -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=8)
    clock = AheadClock(timedelta(seconds=ahead_seconds))
    resources = Resources(settings, database, clock, RandomIds(), KeyRing(settings.secret_key))
    secrets = {f"deliveryProviders/{PROVIDER}/keyFile": key.read_bytes()}  # noqa: ASYNC240 - at its start
    adapter = SftpChannel(PROVIDER, provider, secrets, resources)
    engine = Engine(resources)
    dispatcher = MessageDispatcher(resources, [], find_provider=lambda _name: adapter)
    releaser = BatchReleaser(resources, lambda: {PROVIDER: adapter.print_provider})
    reader = StatusFileReader(resources, lambda: {PROVIDER: adapter.print_provider})
    while True:
        done = await engine.run_once() + await dispatcher.run_once()
        done += await releaser.run_once() + await reader.run_once()
        done += await process_reports(resources)
        if not done:
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    provider = msgspec.json.decode(sys.argv[3], type=SftpProvider)
    asyncio.run(main(float(sys.argv[1]), Path(sys.argv[2]), provider))
