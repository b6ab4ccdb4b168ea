"""A debit in the demo that is returned: the debtor agrees to a payment plan and gives a mandate,
the first instalment is debited, and the debtor's bank takes it back two days later."""

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from enum import Enum, auto
from pathlib import Path
from typing import Any

from examples.bank_statement import Entry, import_entry
from examples.debtor import give_mandate
from examples.installation import MERCHANT, DemoInstallation
from examples.outbox import list_emails
from examples.progress import PAYS_BY_DEBIT, DemoFailed, DemoProgress, print_line, render_money

_RETURN_AFTER = timedelta(days=2)
# The day after the seven days of grace.
_PLAN_ENDS_AFTER = timedelta(days=8)
_NO_COVER = "AM04"

WaitFor = Callable[[Callable[[], bool], str], Awaitable[None]]


class _Stage(Enum):
    BEGINS = auto()
    MANDATE_GIVEN = auto()
    DELIVERED = auto()
    COLLECTED = auto()
    RETURNED = auto()
    MISSED = auto()
    ENDED = auto()


class DebitStory:
    """The story of one debit. `continue_on` is called on each day."""

    def __init__(
        self, installation: DemoInstallation, progress: DemoProgress, merchant_id: int,
        wait_for: WaitFor,
    ) -> None:  # fmt: skip
        self._installation = installation
        self._progress = progress
        self._merchant_id = merchant_id
        self._wait_for = wait_for
        self._stage = _Stage.BEGINS
        self._seen: set[Path] = set()
        self._recipient = ""
        self._day = date.min
        # The first day on which `continue_on` does something.
        self._next_on = date.min
        self._cents = 0
        self._end_to_end_id = ""
        # The subjects of e-mails that arrived after the last one that was waited for.
        self._arrived: list[str] = []

    @property
    def has_begun(self) -> bool:
        return self._stage is not _Stage.BEGINS

    @property
    def is_over(self) -> bool:
        return self._stage is _Stage.ENDED

    async def begin(self, day: date, link: str, debtor: dict[str, Any]) -> None:
        """Let the debtor agree to a plan and give the mandate. `debtor` is the claim as it was
        created."""
        self._day, self._recipient = day, debtor["email"]
        self._seen = set(self._list_emails())
        await give_mandate(link, self._reference, debtor["address"]["postalCode"])
        await self._wait_for_event("MANDATE_CHANGED")
        await self._wait_for_email("Your direct debit mandate")
        self._stage = _Stage.MANDATE_GIVEN

    async def continue_on(self, day: date) -> None:
        """Do what is due on this day."""
        self._day = day
        if day < self._next_on:
            return
        if self._stage is _Stage.MANDATE_GIVEN:
            await self._wait_for_email("Your next instalment")
            await self._release()
            self._stage = _Stage.DELIVERED
        elif self._stage is _Stage.DELIVERED:
            await self._import(f"{self._end_to_end_id}-1", "credited by a bank statement")
            await self._wait_for_event("PAYMENT_COMPLETED")
            await self._wait_for_email("Receipt")
            self._stage, self._next_on = _Stage.COLLECTED, day + _RETURN_AFTER
        elif self._stage is _Stage.COLLECTED:
            words = f"returned by a bank statement: {_NO_COVER}, not enough money in the account"
            await self._import(f"{self._end_to_end_id}-2", words, _NO_COVER)
            await self._wait_for_event("PAYMENT_REVERSED")
            await self._wait_for_email("Your payment to")
            self._stage, self._next_on = _Stage.RETURNED, day + timedelta(days=1)
        elif self._stage is _Stage.RETURNED:
            await self._wait_for_email("Your instalment")
            self._stage, self._next_on = _Stage.MISSED, day - timedelta(days=1) + _PLAN_ENDS_AFTER
        elif self._stage is _Stage.MISSED:
            await self._wait_for_email("Your payment plan")
            self._stage = _Stage.ENDED

    @property
    def _reference(self) -> str:
        return PAYS_BY_DEBIT + self._progress.suffix

    async def _release(self) -> None:
        """Release the debit and download its file, as a clerk does for the bank."""
        debits = json.loads(await self._run("list", MERCHANT, "--json"))
        claim_id = self._progress.claim_id(PAYS_BY_DEBIT)
        debit = next((each for each in debits if each["claimId"] == claim_id), None)
        if debit is None:
            raise DemoFailed(f"the debit of {self._reference} cannot be released")
        self._cents, self._end_to_end_id = debit["amount"], debit["endToEndId"]
        self._next_on = date.fromisoformat(debit["debitedOn"])
        file_id = (await self._run("release", MERCHANT, debit["id"])).split()[0]
        folder = str(self._installation.data_dir)
        path = Path((await self._run("download", MERCHANT, file_id, "--to", folder)).strip())
        self._print("debit", f"released; the bank gets {path.name} (pain.008)")

    async def _import(self, name: str, words: str, reason: str | None = None) -> None:
        entry = Entry(name, self._cents, self._day, self._reference, self._end_to_end_id, reason)
        await asyncio.to_thread(import_entry, self._installation, entry)
        self._print("debit", f"{render_money(self._cents)} {words}")

    async def _wait_for_event(self, kind: str) -> None:
        await self._wait_for(
            lambda: any(each["type"] == kind for each in self._progress.list_events(PAYS_BY_DEBIT)),
            f"the webhook {kind} of {self._reference}",
        )

    async def _wait_for_email(self, beginning: str) -> None:
        """Wait for an e-mail to the debtor whose subject begins so, and print all new ones."""

        def has_arrived() -> bool:
            emails = self._list_emails()
            new = [subject for path, subject in emails.items() if path not in self._seen]
            self._seen |= emails.keys()
            for subject in new:
                self._print("e-mail", f"to {self._recipient}: {subject}")
            self._arrived += new
            return any(each.startswith(beginning) for each in self._arrived)

        await self._wait_for(has_arrived, f'the e-mail "{beginning} …" of {self._reference}')
        while not self._arrived.pop(0).startswith(beginning):
            pass

    def _list_emails(self) -> dict[Path, str]:
        """Return the subjects of the e-mails to the debtor by their files, the oldest first."""
        return list_emails(self._installation.data_dir, self._merchant_id, self._recipient)

    async def _run(self, *arguments: str) -> str:
        done = await asyncio.to_thread(
            subprocess.run, self._installation.dunwell("debits", *arguments),
            env=self._installation.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise DemoFailed(f"dunwell debits {arguments[0]} failed: {done.stderr.strip()}")
        return str(done.stdout)

    def _print(self, what: str, words: str) -> None:
        print_line(f"{self._day:%d %b} 12:00  {what:<11}{self._reference}  {words}")
