"""The life of a few claims, told as it happens: `make demo`, or `make demo ONCE=1` to end after it.

Starts Dunwell, applies examples/demo-merchant.yaml, hands over examples/claims.json through the
public API and moves the sandbox clock day by day. Debtors hear of it by e-mail, SMS and letter; one
pays on the page, one by bank transfer. Exit 1 names the part of the story that did not happen.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from examples.debtor import pay_on_page
from examples.merchant_client import ApiRefused, MerchantClient
from examples.narrator import tell_news
from examples.outbox import read_message
from examples.portal_login import find_login, say_login
from examples.receiver import Receiver
from examples.stage import (
    EXAMPLES,
    Access,
    Stage,
    apply_merchant,
    find_free_port,
    start_dunwell,
    stop_dunwell,
)
from examples.story import (
    PAYS_BY_TRANSFER,
    PAYS_ON_PAGE,
    STATUSES,
    STAYS_OPEN,
    ZONE,
    Story,
    StoryBroken,
    find_faults,
    render_money,
    say,
)

PORT, RECEIVER_PORT = 8000, 8099
# The last claim is archived before, whatever the holidays.
LAST_DAY = 70
PATIENCE_SECONDS = 20.0
POLL_SECONDS = 0.02


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--once", action="store_true", help="end after the story")
    arguments.add_argument("--port", type=int, default=PORT, help="or the next free one")
    arguments.add_argument("--data-dir", type=Path, default=Path("var/demo"))
    given = arguments.parse_args()
    stage = Stage(
        given.data_dir.resolve(), find_free_port(given.port), find_free_port(RECEIVER_PORT)
    )
    # Asked to end, it ends as by Ctrl-C, and Dunwell with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = start_dunwell(stage)
    try:
        asyncio.run(tell(stage, stay=not given.once))
    except (StoryBroken, ApiRefused) as error:
        say(f"\nThe story broke: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nGoodbye.")
    finally:
        stop_dunwell(server)
    return 0


async def tell(stage: Stage, *, stay: bool) -> None:
    access = await asyncio.to_thread(apply_merchant, stage)
    story = Story()
    receiver = Receiver(
        access.webhook_secret, port=stage.receiver_port, on_event=story.take,
        on_refusal=story.refused.append,
    )  # fmt: skip
    await receiver.start()
    try:
        async with MerchantClient(
            f"{stage.origin}/api", access.merchant_id, access.client_id, access.client_secret
        ) as client:
            await Teller(stage, access, client, story, stays=stay).tell()
        if stay:
            say("\nDunwell stays up. Ctrl-C ends it.")
            while True:
                tell_news(stage, story)
                await asyncio.sleep(POLL_SECONDS)
    finally:
        await receiver.stop()


class Teller:
    """Tells the story once, by the merchant's API, a debtor's browser and the sandbox clock."""

    def __init__(
        self, stage: Stage, access: Access, client: MerchantClient, story: Story, *, stays: bool
    ) -> None:
        """stays: Dunwell stays up after the story, so that its addresses can be opened."""
        self._stage = stage
        self._access = access
        self._client = client
        self._story = story
        self._stays = stays
        self._claims: list[dict[str, Any]] = json.loads((EXAMPLES / "claims.json").read_text())

    async def tell(self) -> None:
        await self._hand_over_first()
        await self._live_until(self._have_all_ended, LAST_DAY)
        await self._hand_over([c for c in self._claims if c["referenceNumber"] == STAYS_OPEN])
        await self._live_until(partial(self._was_told, STAYS_OPEN, 1), LAST_DAY)
        await self._check()
        await self._object()
        login = await find_login(self._stage)
        if self._stays:
            self._say_addresses()
            say_login(self._stage, login)
        else:
            # The service ends with the story: its addresses would lead nowhere.
            say(f"\nThe data are kept in {self._stage.data_dir}; make demo shows them again.")

    async def _hand_over_first(self) -> None:
        """Upload an invoice and create the claims, under references not used yet."""
        content = (EXAMPLES / "invoice.pdf").read_bytes()
        ticket = await self._client.upload("invoice.pdf", content, "Invoice RE-1001")
        claims = [c for c in self._claims if c["referenceNumber"] != STAYS_OPEN]
        claims[0]["attachments"] = [{"sourceType": "TICKET", "source": ticket}]
        for turn in range(1, 1000):
            self._story.suffix = "" if turn == 1 else f"-{turn}"
            if await self._hand_over(claims):
                return

    async def _hand_over(self, claims: list[dict[str, Any]]) -> bool:
        """False: the references are used up."""
        suffix = self._story.suffix
        numbered = [c | {"referenceNumber": c["referenceNumber"] + suffix} for c in claims]
        results = await self._client.create_claims(numbered)
        created = [result for result in results if result["error"] is None]
        if not created:
            return False
        if len(created) != len(claims):
            raise StoryBroken(f"claims were not created: {results}")
        for claim, result in zip(claims, created, strict=True):
            self._story.claims[result["id"]] = claim["referenceNumber"]
        named = ", ".join(claim["referenceNumber"] for claim in numbered)
        say(f"\nHanded over: {named}\n")
        return True

    async def _live_until(self, is_over: Callable[[], bool], most_days: int) -> None:
        """Move the clock to each day's noon, and wait for each day's webhooks."""
        now = datetime.fromisoformat(await self._client.read_clock()).astimezone(ZONE)
        await self._move_clock(now)
        for day in range(most_days + 1):
            if is_over():
                return
            noon = (now + timedelta(days=day)).replace(hour=12, minute=0, second=0, microsecond=0)
            if noon > now:
                await self._move_clock(noon)
                await self._pay_what_is_to_be_paid()
        raise StoryBroken(f"it did not end in {most_days} days")

    async def _move_clock(self, instant: datetime) -> None:
        """Every event that this raises must arrive as a webhook, soon."""
        before = len(self._story.events)
        moved = await self._client.advance_clock(instant.isoformat())
        count = before + moved["eventsRaised"]
        await self._wait_for(
            lambda: len(self._story.events) >= count, f"the webhooks of {instant:%d %b}"
        )

    async def _wait_for(self, has_happened: Callable[[], bool], what: str) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not has_happened():
            if asyncio.get_running_loop().time() > deadline:
                raise StoryBroken(f"{what} did not arrive")
            await asyncio.sleep(POLL_SECONDS)
        tell_news(self._stage, self._story)

    async def _pay_what_is_to_be_paid(self) -> None:
        """One pays on the page after the first message, one by bank transfer after the second."""
        if self._was_told(PAYS_ON_PAGE, 1) and not self._story.was_paid_on_page():
            reference = PAYS_ON_PAGE + self._story.suffix
            await pay_on_page(self._find_link(PAYS_ON_PAGE), reference)
            await self._wait_for(self._story.was_paid_on_page, "the webhooks of the payment")
        if self._was_told(PAYS_BY_TRANSFER, 2) and not self._story.is_transferred:
            await self._record_payment()

    async def _record_payment(self) -> None:
        """Paid by bank transfer: the shop's bookkeeping records it, which raises no event."""
        claim_id = self._story.claim_id(PAYS_BY_TRANSFER)
        claim = await self._client.read_claim(claim_id)
        amount = int(claim["outstanding"])
        payment = {
            "amount": amount, "currency": claim["currency"], "transactionId": f"bank-{claim_id}",
        }  # fmt: skip
        await self._client.record_payment(claim_id, payment)
        self._story.is_transferred = True
        words = f"{claim['referenceNumber']}  {render_money(amount)} recorded, by bank transfer"
        say(f"{'':<14}{'payment':<11}{words}")

    def _was_told(self, reference: str, times: int) -> bool:
        return len(self._story.channels_of(reference)) >= times

    def _have_all_ended(self) -> bool:
        paying = (PAYS_BY_TRANSFER, PAYS_ON_PAGE)
        others = [each for each in self._story.claims.values() if each not in paying]
        are_paid = self._story.is_transferred and self._story.was_paid_on_page()
        return are_paid and all(map(self._story.was_archived, others))

    def _find_link(self, reference: str) -> str:
        """The link in the last message to this debtor."""
        told = [e for e in self._story.events_of(reference) if e["type"] == "ESCALATED"]
        communication = told[-1]["claim"]["communication"]
        message = read_message(self._stage.data_dir, self._access.merchant_id, communication)
        if message.link is None:
            raise StoryBroken(f"the message to {reference} has no link")
        return message.link

    async def _check(self) -> None:
        """Name every part of the story that did not happen."""
        statuses = {
            reference: (await self._client.read_claim(claim_id))["status"]
            for claim_id, reference in self._story.claims.items()
        }
        faults = find_faults(self._story, statuses)
        if faults:
            raise StoryBroken("; ".join(faults))
        archived = len(statuses) - len(STATUSES)
        count = len(self._story.events)
        say(f"\n2 claims collected, {archived} archived, 1 open; {count} webhooks, all verified.")

    async def _object(self) -> None:
        """Whose claim is open says by phone that goods were broken: somebody has to answer."""
        before = len(self._story.events)
        claim_id = self._story.claim_id(STAYS_OPEN)
        words = "Two of the five teapots arrived broken. I will not pay for those."
        await self._client.dispute(claim_id, {"type": "DEFECTIVE", "message": words})
        say(f"\n{STAYS_OPEN}{self._story.suffix} is disputed: {words}")
        await self._wait_for(lambda: len(self._story.events) > before, "the webhook of the dispute")

    def _say_addresses(self) -> None:
        origin = self._stage.origin
        say(f"\nA debtor's link {self._find_link(STAYS_OPEN)}")
        say(f"Sent messages   {origin}/outbox")
        say(f"API docs        {origin}/docs")
        say(f"Figures         {origin}/metrics")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
