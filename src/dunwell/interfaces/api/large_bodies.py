"""Takes in the bodies of JSON requests, so that few large ones are in memory at once.

A small body stays in memory. A large one lies in a temporary file while it comes in, however slowly
it comes, and is read into memory only when it has one of a few places, which its request then keeps
to its end: parsed, a body takes several times its bytes. Merchants share the places fairly, so that
one that sends many large bodies delays only its own.
"""

import asyncio
from contextlib import AsyncExitStack, ExitStack, closing

from starlette.requests import Request

from dunwell.platform.children.fair_queue import FairQueue, QueueLimits
from dunwell.platform.http.requests import stream_body
from dunwell.platform.http.spool import UPLOADS, SpooledContent

MAX_JSON_BYTES = 10 * 1024 * 1024
# Up to here a body is small: about 500 claims.
_MOST_SMALL_BYTES = 256 * 1024
# Large bodies in memory. Two keep the processor busy while the other waits for the database; with
# four of the largest, others waited for two seconds.
_MOST_LARGE = 2
# Large bodies of which a piece is taken in each time the event loop goes round. As many as are
# sent, of up to 256 KiB a piece, would leave other requests no time.
_MOST_PIECES = 2
# A merchant alone uses both places. What waits lies in files, which have limits of their own. The
# largest body is worked on for two or three seconds.
_LIMITS = QueueLimits(slots_per_key=_MOST_LARGE, waiting_per_key=64, waiting=400, wait_seconds=20.0)


class LargeBodies:
    """Of one process."""

    def __init__(self) -> None:
        self._queue = FairQueue(_MOST_LARGE, _LIMITS)
        self._pieces = asyncio.Semaphore(_MOST_PIECES)

    async def read(self, request: Request, merchant_id: int, holding: AsyncExitStack) -> bytes:
        """All of the body. holding: ends with the request; until then a large body keeps its place.

        Raises what `stream_body`, `SpooledContent.write` and `FairQueue.slot` raise.
        """
        chunks: list[bytes] = []
        taken = 0
        with ExitStack() as spooling:
            content: SpooledContent | None = None
            async for chunk in stream_body(request, MAX_JSON_BYTES):
                taken += len(chunk)
                chunks.append(chunk)
                if content is None and taken > _MOST_SMALL_BYTES:
                    share = UPLOADS.share_of(merchant_id)
                    content = spooling.enter_context(closing(share.open()))
                if content is not None:
                    content.write(b"".join(chunks))
                    chunks.clear()
                    async with self._pieces:
                        await asyncio.sleep(0)
            if content is None:
                return b"".join(chunks)
            await holding.enter_async_context(self._queue.slot(merchant_id, taken))
            return content.read()
