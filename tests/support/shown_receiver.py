"""Runs the receivers in the webhook guide as the guide prints them, except for port and secret."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp

from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.platform.clock import SystemClock
from dunwell.platform.resources import Resources
from tests.support.guides import read_blocks
from tests.support.webhooks import an_outbox


async def check_shown_receiver(
    resources: Resources, language: str, program: Path, command: Sequence[str], port: int
) -> None:
    """Check that the program prints each of two events once although both are delivered twice, and
    that it answers unsigned requests with 401. `language` selects the code block, which is written
    to `program` and run by `command`."""
    outbox = await an_outbox(replace(resources, clock=SystemClock()))
    url = f"http://127.0.0.1:{port}/"
    secret = (await outbox.add_endpoint(url)).secret
    _write_program(program, language, port, secret)
    async with _run([*command, str(program)], port) as process:
        await outbox.raise_events(2)
        async with open_webhook_sender(allow_loopback=True) as sender:
            assert await WebhookDispatcher(outbox.resources, sender).run_once() == 2
            await outbox.rows("DELETE FROM delivery_attempts WHERE merchant_id = $1")
            await outbox.rows(
                "UPDATE deliveries SET state = 'PENDING', due_at = now() WHERE merchant_id = $1"
            )
            assert await WebhookDispatcher(outbox.resources, sender).run_once() == 2
        async with aiohttp.ClientSession() as session, session.post(url, json={}) as answer:
            assert answer.status == 401
        assert [state for _, state, _ in await outbox.deliveries()] == ["DELIVERED"] * 2
        process.kill()
        printed, _ = await process.communicate()
    assert printed.decode().splitlines() == ["CHECKPOINT_REACHED INV-1001"] * 2


def _write_program(program: Path, language: str, port: int, secret: str) -> None:
    [text] = read_blocks("webhooks", language)
    program.write_text(text.replace("8099", str(port)).replace("whsec_...", secret))


@asynccontextmanager
async def _run(command: Sequence[str], port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the program and yield it once it listens."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while not await _listens(port):
                assert process.returncode is None
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
