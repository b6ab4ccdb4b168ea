"""The life of a few claims, printed while it happens: `make demo`.

`make demo ONCE=1` ends after the last claim. The demo starts Dunwell, applies
examples/demo-merchant.yaml, creates the claims of examples/claims.json through the public API and
advances the sandbox clock day by day. Debtors are contacted by e-mail, SMS and letter; one pays on
the page and one by bank transfer, which a bank statement reports. One agrees to a payment plan by
direct debit, and the bank returns the debit. If something that should happen does not, the demo
names it and exits with status 1.
"""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from examples.bank_statement import Entry, import_entry
from examples.debtor import pay_on_page
from examples.direct_debit import DebitStory
from examples.installation import (
    EXAMPLES,
    Access,
    DemoInstallation,
    apply_merchant,
    find_free_port,
    start_dunwell,
    stop_dunwell,
)
from examples.merchant_client import MerchantClient, RequestRefused
from examples.outbox import read_message
from examples.portal_login import get_login, print_login
from examples.print_events import print_new_events
from examples.progress import (
    PAYS_BY_DEBIT,
    PAYS_BY_TRANSFER,
    PAYS_ON_PAGE,
    STATUSES,
    STAYS_OPEN,
    ZONE,
    DemoFailed,
    DemoProgress,
    list_faults,
    print_line,
    render_money,
)
from examples.receiver import Receiver

PORT, RECEIVER_PORT = 8000, 8099
# Enough days for the last claim to be archived, whatever the holidays.
LAST_DAY = 110
PATIENCE_SECONDS = 20.0
POLL_SECONDS = 0.02


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--once", action="store_true", help="end after the last claim")
    arguments.add_argument("--port", type=int, default=PORT, help="the port, or the next free one")
    arguments.add_argument("--data-dir", type=Path, default=Path("var/demo"))
    given = arguments.parse_args()
    installation = DemoInstallation(
        given.data_dir.resolve(), find_free_port(given.port), find_free_port(RECEIVER_PORT)
    )
    # End on SIGTERM as on Ctrl-C, so that Dunwell is stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = start_dunwell(installation)
    try:
        asyncio.run(run_demo(installation, stay=not given.once))
    except (DemoFailed, RequestRefused) as error:
        print_line(f"\nThe demo failed: {error}")
        return 1
    except KeyboardInterrupt:
        print_line("\nGoodbye.")
    finally:
        stop_dunwell(server)
    return 0


async def run_demo(installation: DemoInstallation, *, stay: bool) -> None:
    access = await asyncio.to_thread(apply_merchant, installation)
    progress = DemoProgress()
    receiver = Receiver(
        access.webhook_secret, port=installation.receiver_port, on_event=progress.record_event,
        on_refusal=progress.refused.append,
    )  # fmt: skip
    await receiver.start()
    try:
        async with MerchantClient(
            f"{installation.origin}/api", access.merchant_id, access.client_id, access.client_secret
        ) as client:
            await DemoRunner(installation, access, client, progress, stays=stay).run()
        if stay:
            print_line("\nDunwell stays up. Ctrl-C ends it.")
            while True:
                print_new_events(installation, progress)
                await asyncio.sleep(POLL_SECONDS)
    finally:
        await receiver.stop()


class DemoRunner:
    """Runs the demo once with the merchant's API, a debtor's browser and the sandbox clock."""

    def __init__(
        self, installation: DemoInstallation, access: Access, client: MerchantClient,
        progress: DemoProgress, *, stays: bool,
    ) -> None:  # fmt: skip
        """`stays` is true if Dunwell keeps running, so that its addresses can be opened."""
        self._installation = installation
        self._access = access
        self._client = client
        self._progress = progress
        self._stays = stays
        self._debit = DebitStory(installation, progress, access.merchant_id, self._wait_for)
        self._claims: list[dict[str, Any]] = json.loads((EXAMPLES / "claims.json").read_text())

    async def run(self) -> None:
        await self._create_first_claims()
        await self._advance_days_until(self._have_all_ended, LAST_DAY)
        await self._create_claims([c for c in self._claims if c["referenceNumber"] == STAYS_OPEN])
        await self._advance_days_until(partial(self._was_contacted, STAYS_OPEN, 1), LAST_DAY)
        await self._check_outcome()
        await self._dispute_open_claim()
        login = await get_login(self._installation)
        if self._stays:
            self._print_addresses()
            print_login(self._installation, login)
        else:
            # Print no addresses, because Dunwell stops now.
            folder = self._installation.data_dir
            print_line(f"\nThe data are kept in {folder}; make demo shows them again.")

    async def _create_first_claims(self) -> None:
        """Upload an invoice and create the claims, with references that are not used yet."""
        content = (EXAMPLES / "invoice.pdf").read_bytes()
        ticket = await self._client.upload("invoice.pdf", content, "Invoice RE-1001")
        claims = [c for c in self._claims if c["referenceNumber"] != STAYS_OPEN]
        claims[0]["attachments"] = [{"sourceType": "TICKET", "source": ticket}]
        for turn in range(1, 1000):
            self._progress.suffix = "" if turn == 1 else f"-{turn}"
            if await self._create_claims(claims):
                return

    async def _create_claims(self, claims: list[dict[str, Any]]) -> bool:
        """Return whether the claims were created. They are not if their references are used."""
        suffix = self._progress.suffix
        numbered = [c | {"referenceNumber": c["referenceNumber"] + suffix} for c in claims]
        results = await self._client.create_claims(numbered)
        created = [result for result in results if result["error"] is None]
        if not created:
            return False
        if len(created) != len(claims):
            raise DemoFailed(f"claims were not created: {results}")
        for claim, result in zip(claims, created, strict=True):
            self._progress.claims[result["id"]] = claim["referenceNumber"]
        named = ", ".join(claim["referenceNumber"] for claim in numbered)
        print_line(f"\nHanded over: {named}\n")
        return True

    async def _advance_days_until(self, is_over: Callable[[], bool], most_days: int) -> None:
        """Advance the clock to noon of each day and wait for the webhooks of that day."""
        now = datetime.fromisoformat(await self._client.get_time()).astimezone(ZONE)
        await self._move_clock(now)
        for day in range(most_days + 1):
            if is_over():
                return
            noon = (now + timedelta(days=day)).replace(hour=12, minute=0, second=0, microsecond=0)
            if noon > now:
                await self._move_clock(noon)
                await self._pay_due_claims(noon.date())
        raise DemoFailed(f"the claims did not end within {most_days} days")

    async def _move_clock(self, instant: datetime) -> None:
        """Advance the clock and wait for a webhook for every event that this raises."""
        before = self._progress.count_numbered()
        moved = await self._client.advance_clock(instant.isoformat())
        count = before + moved["eventsRaised"]
        await self._wait_for(
            lambda: self._progress.count_numbered() >= count, f"the webhooks of {instant:%d %b}"
        )

    async def _wait_for(self, has_happened: Callable[[], bool], what: str) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not has_happened():
            if asyncio.get_running_loop().time() > deadline:
                raise DemoFailed(f"{what} did not arrive")
            await asyncio.sleep(POLL_SECONDS)
        print_new_events(self._installation, self._progress)

    async def _pay_due_claims(self, day: date) -> None:
        """Pay one claim on the page after a message, one by transfer after two, and one by a direct
        debit that is returned."""
        if self._was_contacted(PAYS_ON_PAGE, 1) and not self._progress.was_paid_on_page():
            reference = PAYS_ON_PAGE + self._progress.suffix
            await pay_on_page(self._find_link(PAYS_ON_PAGE), reference)
            await self._wait_for(self._progress.was_paid_on_page, "the webhooks of the payment")
        if self._was_contacted(PAYS_BY_TRANSFER, 2) and not self._progress.is_transferred:
            await self._import_transfer(day)
        if self._debit.has_begun:
            await self._debit.continue_on(day)
        elif self._was_contacted(PAYS_BY_DEBIT, 1):
            debtor = next(c for c in self._claims if c["referenceNumber"] == PAYS_BY_DEBIT)
            await self._debit.begin(day, self._find_link(PAYS_BY_DEBIT), debtor)

    async def _import_transfer(self, day: date) -> None:
        """Import a bank statement with a transfer, which is matched by its reference. It raises no
        event."""
        claim_id = self._progress.claim_id(PAYS_BY_TRANSFER)
        claim = await self._client.get_claim(claim_id)
        amount, reference = int(claim["outstanding"]), claim["referenceNumber"]
        entry = Entry(f"DEMO-{claim_id}", amount, day, f"Tea {reference}")
        await asyncio.to_thread(import_entry, self._installation, entry)
        self._progress.is_transferred = True
        words = f"{reference}  {render_money(amount)} found in a bank statement"
        print_line(f"{'':<14}{'payment':<11}{words}")

    def _was_contacted(self, reference: str, times: int) -> bool:
        return len(self._progress.list_channels(reference)) >= times

    def _have_all_ended(self) -> bool:
        paying = (PAYS_BY_TRANSFER, PAYS_ON_PAGE)
        others = [each for each in self._progress.claims.values() if each not in paying]
        are_paid = self._progress.is_transferred and self._progress.was_paid_on_page()
        return are_paid and self._debit.is_over and all(map(self._progress.was_archived, others))

    def _find_link(self, reference: str) -> str:
        """Return the link in the last message to the debtor of this claim."""
        events = [e for e in self._progress.list_events(reference) if e["type"] == "ESCALATED"]
        communication = events[-1]["claim"]["communication"]
        message = read_message(self._installation.data_dir, self._access.merchant_id, communication)
        if message.link is None:
            raise DemoFailed(f"the message to {reference} has no link")
        return message.link

    async def _check_outcome(self) -> None:
        """Raise DemoFailed with everything that should have happened and did not."""
        statuses = {
            reference: (await self._client.get_claim(claim_id))["status"]
            for claim_id, reference in self._progress.claims.items()
        }
        faults = list_faults(self._progress, statuses)
        if faults:
            raise DemoFailed("; ".join(faults))
        archived = len(statuses) - len(STATUSES)
        count = len(self._progress.events)
        print_line(
            f"\n2 claims collected, {archived} archived, 1 open; 1 debit returned; "
            f"{count} webhooks, all verified."
        )

    async def _dispute_open_claim(self) -> None:
        """Record an objection that the debtor of the open claim made by phone. A clerk can answer
        it."""
        before = len(self._progress.events)
        claim_id = self._progress.claim_id(STAYS_OPEN)
        words = "Two of the five teapots arrived broken. I will not pay for those."
        await self._client.dispute(claim_id, {"type": "DEFECTIVE", "message": words})
        print_line(f"\n{STAYS_OPEN}{self._progress.suffix} is disputed: {words}")
        await self._wait_for(
            lambda: len(self._progress.events) > before, "the webhook of the dispute"
        )

    def _print_addresses(self) -> None:
        origin = self._installation.origin
        print_line(f"\nA debtor's link {self._find_link(STAYS_OPEN)}")
        print_line(f"Sent messages   {origin}/outbox")
        print_line(f"API docs        {origin}/docs")
        print_line(f"Figures         {origin}/metrics")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
