"""The process `dunwell mail` becomes ready, accepts a report and is stopped by a signal."""

import asyncio
import signal
import sys
from uuid import UUID

import aiosmtplib

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.platform.resources import Resources
from tests.support.bounces import a_block, a_report
from tests.support.processes import complete_environment
from tests.support.smtp_providers import a_provider

_MESSAGE = UUID("01900000-0000-7000-8000-000000000001")


async def test_the_mail_process_accepts_a_report(resources: Resources) -> None:
    await apply_installation(resources, Installation(delivery_providers={"post": a_provider(25)}))
    environment = complete_environment({
        "DUNWELL_DATA_DIR": str(resources.settings.data_dir),
        "DUNWELL_DATABASE_URL": str(resources.settings.database_url),
    })  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dunwell", "mail", "--smtp", "127.0.0.1:0",
        env=environment, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            provider = (await process.stdout.readline()).decode()
        assert provider.startswith("ready, mail: mailboxes, SMTP at 127.0.0.1:")
        address = build_return_address(
            resources.keys,
            "bounce",
            "returns.example.com",
            merchant_id=7,
            communication_id=_MESSAGE,
        )
        client = aiosmtplib.SMTP(
            hostname="127.0.0.1", port=int(provider.strip().rpartition(":")[2]), start_tls=False
        )
        await client.connect()
        await client.sendmail("", [address], a_report(a_block("failed", "5.1.1")))
        await client.quit()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    async with resources.database.connection() as connection:
        [row] = await connection.fetch("SELECT state, communication_id FROM delivery_reports")
    assert tuple(row) == ("FAILED", _MESSAGE)
