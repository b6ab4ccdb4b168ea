"""Workers that are killed while they send through a real Postfix: nothing is sent twice and nothing
is lost. A message with an unclear outcome is recorded as unknown, and counts as one that may have
been sent."""

import asyncio
import os
import random
import signal
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.postfix import Postfix
from tests.servers.test_email import drain
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness
from tests.support.mail_servers import MailServer
from tests.support.processes import a_process
from tests.support.smtp_providers import a_provider
from tests.support.threaded_mail_server import a_threaded_mail_server

_KILLS = int(os.environ.get("MAIL_KILLS", "50"))
_CLAIMS_A_KILL = 6
_STATES = """
SELECT m.state, d.email FROM communications m JOIN debtors d USING (merchant_id, claim_id)
WHERE m.merchant_id = $1
"""
_LEDGER = "SELECT count(*) AS entries FROM contact_ledger WHERE merchant_id = $1"
_LEFT = "SELECT FROM communications WHERE merchant_id = $1 AND state IN ('PLANNED', 'HANDED_OVER')"
_SENT = "SELECT FROM communications WHERE merchant_id = $1 AND state <> 'PLANNED'"
_LEASE_SECONDS = 20
_AT_ONCE = a_definition(steps=[{**DOCUMENT["steps"][0], "send": "IMMEDIATE"}])


async def test_workers_killed_while_sending_neither_lose_nor_repeat_emails(
    resources: Resources, postfix: Postfix
) -> None:
    clock = MovableClock(datetime.now(UTC))
    rng = random.Random(19)
    channel: Any = SmtpChannel("post", a_provider(postfix.port), {}, resources.keys)
    harness = await a_harness_with_a_provider(replace(resources, clock=clock), clock, channel)
    await harness.publish(_AT_ONCE, "At once")
    count = _KILLS * _CLAIMS_A_KILL
    names = [f"K-{number}" for number in range(count)]
    await harness.create(*names)
    with a_threaded_mail_server(postfix.world_port) as receiving_server:
        for kill in range(_KILLS):
            ahead = str(kill * _LEASE_SECONDS)
            with a_process(
                resources.settings,
                "tests.support.smtp_worker_process",
                ahead,
                str(postfix.port),
                "5",
            ) as process:
                # Wait until it has begun to send, and a moment longer.
                target = min((kill + 1) * _CLAIMS_A_KILL - rng.randrange(5), count)
                async with asyncio.timeout(60):
                    while len(await harness.rows(_SENT)) < target:  # noqa: ASYNC110
                        await asyncio.sleep(0.002)
                await asyncio.sleep(rng.random() * 0.08)
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
                await asyncio.to_thread(process.join, 10)
        clock.move_to(datetime.now(UTC) + timedelta(seconds=_LEASE_SECONDS * (_KILLS + 1)))
        while await harness.rows(_LEFT):
            dispatcher = MessageDispatcher(
                harness.resources, [], find_provider=lambda _name: channel
            )
            await dispatcher.run_merchant(harness.merchant.merchant_id)
            await dispatcher.close()
        drain(postfix)
    await channel.close()
    print(f"{_KILLS} kills, {count} contacts: {await compare(harness, receiving_server, count)}")


async def compare(harness: Harness, receiving_server: MailServer, count: int) -> str:
    """Compare what arrived with the contacts and the ledger."""
    rows = await harness.rows(_STATES)
    states = Counter(row["state"] for row in rows)
    arrived = Counter(each.recipient for each in receiving_server.taken)
    accepted = {row["email"] for row in rows if row["state"] == "ACCEPTED"}
    unknown = {row["email"] for row in rows if row["state"] == "UNKNOWN"}
    assert set(states) <= {"ACCEPTED", "UNKNOWN"}
    assert len(rows) == count
    assert max(arrived.values()) == 1
    assert accepted <= set(arrived)
    assert set(arrived) <= accepted | unknown
    [ledger] = await harness.rows(_LEDGER)
    assert ledger["entries"] >= len(accepted)
    return f"{dict(states)}, {len(arrived)} arrived"
