"""The only place that picks implementations and mounts routes.

Processes open what they need here: the web process its app, the worker its loops.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from litestar import Litestar

from dunwell.adapters.channels.outbox.adapter import OutboxEmail
from dunwell.adapters.channels.outbox.routes import outbox_routes
from dunwell.api.app import build_app
from dunwell.claims.expire_holds import expire_holds
from dunwell.config import Settings
from dunwell.escalation.dispatch import MessageDispatcher
from dunwell.escalation.engine import Engine
from dunwell.events.deliver import WebhookDispatcher
from dunwell.events.sender import WebhookSender, open_webhook_sender
from dunwell.files.storage import Storage
from dunwell.kit.clock import SystemClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.postgres import find_database_url
from dunwell.kit.resources import Resources
from dunwell.messages.channel import ChannelAdapter
from dunwell.worker.housekeeping import HOUSEKEEPING_SECONDS, Housekeeping
from dunwell.worker.loops import Loop


@asynccontextmanager
async def open_resources(settings: Settings, process: str) -> AsyncIterator[Resources]:
    """What every process needs; the database may still be away."""
    url = find_database_url(settings)
    database = await Database.open(url, application=f"dunwell {process}")
    try:
        keys = KeyRing(settings.secret_key)
        yield Resources(settings, database, SystemClock(), RandomIds(), keys)
    finally:
        await database.close()


def choose_channels(settings: Settings) -> Sequence[ChannelAdapter]:
    """The channel adapters a merchant's configuration can name."""
    return [OutboxEmail(settings.data_dir)]


def list_adapters(settings: Settings) -> Mapping[str, Collection[str]]:
    """The names of this installation's adapters for each channel."""
    names: dict[str, set[str]] = {}
    for adapter in choose_channels(settings):
        names.setdefault(adapter.channel, set()).add(adapter.name)
    return names


def build_web(resources: Resources) -> Litestar:
    """The application one web process serves."""
    channels = choose_channels(resources.settings)
    return build_app(resources, channels, outbox_routes(resources))


@asynccontextmanager
async def open_loops(resources: Resources, stop: asyncio.Event) -> AsyncIterator[Sequence[Loop]]:
    """The loops one worker runs until `stop`."""
    settings = resources.settings
    async with open_webhook_sender(allow_loopback=settings.is_development) as sender:
        messages = MessageDispatcher(resources, choose_channels(settings))
        housekeeping = Housekeeping(resources, Storage.open(settings.files_url))
        yield [
            Loop("engine", Engine(resources).run_once),
            Loop("messages", messages.run_once, finish=messages.close),
            _webhook_loop(resources, sender, stop),
            Loop("holds", lambda: expire_holds(resources)),
            Loop("housekeeping", housekeeping.run_once, idle_seconds=HOUSEKEEPING_SECONDS),
        ]


def _webhook_loop(resources: Resources, sender: WebhookSender, stop: asyncio.Event) -> Loop:
    """Deliveries keep lanes of their own going: one round lasts until the end, or a failure."""

    async def deliver() -> int:
        # A new dispatcher each time: what a failed one had under way is found again by its lease.
        await WebhookDispatcher(resources, sender).run(stop)
        return 0

    return Loop("webhooks", deliver)
