"""A mail server in its own thread, for tests that block the event loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.mail_servers import MailServer, a_mail_server


@contextmanager
def a_threaded_mail_server(port: int) -> Iterator[MailServer]:
    ready, made = threading.Event(), list[MailServer]()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with a_mail_server(port=port) as sink:
            made.append(sink)
            ready.set()
            await stop.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
