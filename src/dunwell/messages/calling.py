"""Calls a channel's adapter, minds time, and turns whatever it does into an answer.

No transaction is open here, and nothing is known of what the answer means.
"""

import asyncio

import structlog

from dunwell.messages.channel import ChannelAdapter, Message, Outcome, Unanswered

CALL_SECONDS = 60

log = structlog.get_logger(__name__)


async def call_channel(adapter: ChannelAdapter, message: Message) -> Outcome | Unanswered:
    try:
        async with asyncio.timeout(CALL_SECONDS):
            return await adapter.send(message)
    except Exception as error:
        # Whatever it was: the message may have left, and that alone counts.
        log.exception(
            "send unanswered",
            communication_id=str(message.communication_id),
            error=type(error).__name__,
        )
        return Unanswered(adapter.is_repeatable)
