"""E-mails that are rendered, sent to a real Postfix and recorded, compared with a simple aiosmtplib
loop that sends messages of the same length to the same Postfix over the same number of connections.
Postfix discards them."""

import asyncio
import tempfile
import time
from functools import partial
from pathlib import Path

import aiosmtplib
from tests.servers.postfix import start_postfix
from tests.support.smtp_providers import RETURN_DOMAIN, a_provider

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate
from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine

_EMAILS = 3_000
_CONNECTIONS = 20
_RECIPIENT = "debtor@customer.invalid"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages")
    count = scale.rows(_EMAILS)
    with (
        tempfile.TemporaryDirectory(prefix="dunwell-bench-", ignore_cleanup_errors=True) as folder,
        start_postfix(Path(folder) / "own", rest="discard:") as postfix,
    ):
        kept: list[bytes] = []
        ours, reference = await alternate(
            scale,
            [
                partial(_send, ground, bench, count, postfix.port, kept),
                partial(_send_bare, count, postfix.port, kept),
            ],
        )
    return [
        Line(
            work="e-mails rendered, handed to a Postfix, ESCALATED recorded", unit="e-mails/s",
            ours=ours, beside=f"a bare aiosmtplib loop, {_CONNECTIONS} connections as ours",
            reference=reference, at_least=0.8,
        )
    ]  # fmt: skip


class _Watched(SmtpChannel):
    """Keeps one message as it was sent, for the simple loop."""

    kept: list[bytes]

    async def _build_mail(self, message):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        mail = await super()._build_mail(message)
        if not self.kept:
            self.kept.append(mail._content)  # noqa: SLF001
        return mail


async def _send(
    ground: Ground, bench: BenchMerchant, count: int, port: int, kept: list[bytes]
) -> float:
    """Return the e-mails per second, until none is planned any more."""
    await ground.clear_claims()
    await submit_claims(bench, count)
    engine = Engine(bench.resources)
    while await engine.run_once():
        pass
    await ground.settle()
    line = a_provider(port, pace={"atOnce": _CONNECTIONS})
    # The name of the adapter in the benchmark merchant's configuration.
    channel = _Watched("outbox", line, {}, bench.resources.keys)
    channel.kept = kept
    dispatcher = MessageDispatcher(bench.resources, [channel])
    done, started = 0, time.perf_counter()
    while done < count:
        done += await dispatcher.run_once()
    seconds = time.perf_counter() - started
    await dispatcher.close()
    await channel.close()
    return count / seconds


async def _send_bare(count: int, port: int, kept: list[bytes]) -> float:
    async def send(messages: int) -> None:
        client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False)
        await client.connect()
        for _ in range(messages):
            await client.sendmail(f"bounce@{RETURN_DOMAIN}", [_RECIPIENT], kept[0])
        await client.quit()

    started = time.perf_counter()
    await asyncio.gather(*(send(count // _CONNECTIONS) for _ in range(_CONNECTIONS)))
    return count / (time.perf_counter() - started)
