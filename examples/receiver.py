"""A small webhook receiver: it verifies each delivery and prints its event on one line.

    python -m examples.receiver --secret whsec_... [--port 8099]

The port must be that of the merchant file's webhook; the default is 8099.

It uses only aiohttp and standardwebhooks and nothing of Dunwell, like a merchant's own receiver.
The class can be used alone, with a function that handles each event.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

Event = dict[str, Any]


def print_event(event: Event) -> None:
    """Print one line for an event: its time, its type, its claim and its particular values."""
    claim = event["claim"]
    line = [event["date"], f"{event['type']:<18}", claim["referenceNumber"]]
    if "actionStep" in event:
        line.append(event["actionStep"]["name"])
    for name in ("communication", "fee", "payment", "details"):
        if name in claim:
            line += [f"{key}={value}" for key, value in claim[name].items()]
    print("  ".join(line), flush=True)


def print_refusal(reason: str) -> None:
    print(f"refused: {reason} (is --secret this endpoint's?)", flush=True)


@dataclass
class Receiver:
    """Listens on the loopback interface, and refuses deliveries that the secret does not verify.

    A delivery may arrive more than once: `on_event` is called only for the first delivery of an
    event id. `on_refusal` is called with the reason of each refusal.
    """

    secret: str
    port: int
    on_event: Callable[[Event], None] = print_event
    on_refusal: Callable[[str], None] = print_refusal
    host: str = "127.0.0.1"
    _seen: set[str] = field(default_factory=set)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/webhooks"

    async def start(self) -> None:
        """Start to listen. With port 0 a free port is chosen, and `port` and `url` contain it."""
        app = web.Application()
        app.router.add_post("/webhooks", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        try:
            event = Webhook(self.secret).verify(await request.read(), dict(request.headers))
        except WebhookVerificationError as refusal:
            self.on_refusal(str(refusal))
            return web.Response(status=401, text="The signature does not verify.")
        if event["eventId"] not in self._seen:
            self._seen.add(event["eventId"])
            self.on_event(event)
        return web.Response(status=204)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--secret", required=True, help="whsec_...")
    parser.add_argument("--port", type=int, default=8099)
    given = parser.parse_args()
    try:
        Webhook(given.secret)
    except Exception as error:  # noqa: BLE001 - the library raises several types
        parser.error(f"--secret is not the one that apply printed: {error}")
    receiver = Receiver(given.secret, given.port)
    try:
        await receiver.start()
    except OSError as error:
        parser.error(
            f"cannot listen on port {given.port}: {error.strerror}. If another program uses it, "
            "choose a port with --port, put it into the url of the merchant file's webhook, and "
            "apply the file."
        )
    print(f"listening at {receiver.url}", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await receiver.stop()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
