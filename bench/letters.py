"""Letters from their facts to a PDF, by one child process of the printer. Each has one page with
items and two codes."""

import asyncio
import time
from dataclasses import dataclass
from datetime import date
from functools import partial

import psutil

from bench.environment import Ground
from bench.line import Line
from bench.rounds import Scale, alternate
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.rendering import LetterPost, render_letter
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.contact.messages.templates.facts import (
    CreditorFacts,
    LandingFacts,
    MessageClaim,
    MessageFacts,
    MessageItem,
)
from dunwell.core.claims.fields import DebtorName
from dunwell.core.workflows.definition import LetterTemplate

_LETTERS = 2_000
# 150 letters per second and core.
_MAX_MILLISECONDS = 6.7
_TEMPLATE = LetterTemplate(
    subject={"de": "Ihre Rechnung {{ claim.referenceNumber }} ist noch offen"},
    body={
        "de": "Guten Tag {{ debtor.name }},\n\nvielleicht ist unsere Rechnung untergegangen: "
        "**{{ outstanding }}** sind noch offen.\n\n{{ items }}\n\nHaben Sie schon gezahlt? Dann "
        "ist nichts weiter zu tun. Stimmt etwas nicht, oder können Sie gerade nicht alles auf "
        "einmal zahlen? Dann sagen Sie es uns.\n\nFreundliche Grüße\nIhr Team"
    },
)
_CREDITOR = CreditorFacts(
    name="Nordwind Schuhe",
    legal_name="Nordwind Schuhe GmbH",
    legal_address="Deichstraße 1\n20459 Hamburg",
    email="hilfe@nordwind.example",
    phone="+49 40 5550123",
    register="Amtsgericht Hamburg, HRB 000000",
    bank_iban="DE02120300000000202051",
    bank_holder="Nordwind Schuhe GmbH",
)
_POST = LetterPost(
    ("Erika Mustermann", "Heidestraße 17", "51147 Köln"), "claims.nordwind.example/q"
)


@dataclass(frozen=True, slots=True)
class _Reached:
    letters_a_second: float
    # The child's processor time for one letter.
    processor_ms: float


async def measure(_ground: Ground, scale: Scale) -> list[Line]:
    printer = LetterPrinter(1)
    # Starting the child is not measured.
    await printer.print_sheet(make_sheet(0))
    [reached] = await alternate(scale, [partial(_print, printer, scale.rows(_LETTERS))])
    await printer.close()
    return [
        Line(
            work="letters: rendered and laid out, one child", unit="letters/s",
            ours=[each.letters_a_second for each in reached],
        ),
        Line(
            work="letters: processor time of one", unit="ms",
            ours=[each.processor_ms for each in reached], at_most=_MAX_MILLISECONDS,
        ),
    ]  # fmt: skip


async def _print(printer: LetterPrinter, count: int) -> _Reached:
    (child,) = [p for p in psutil.Process().children() if "printer_child" in " ".join(p.cmdline())]
    before, started = _processor_seconds(child), time.perf_counter()
    pdfs = await asyncio.gather(*(printer.print_sheet(make_sheet(n)) for n in range(count)))
    seconds = time.perf_counter() - started
    assert len(set(pdfs)) == count
    return _Reached(count / seconds, (_processor_seconds(child) - before) / count * 1000)


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def make_sheet(number: int) -> bytes:
    reference, due_on = f"RE-2026-{number:08d}", date(2026, 1, 29)
    items = (
        MessageItem("PRIMARY", 10240, reference, date(2026, 1, 15), due_on),
        MessageItem("DUNNING_FEE", 250, item_date=date(2026, 2, 12)),
    )
    facts = MessageFacts(
        claim=MessageClaim(number, reference, "EUR", items, 10490, 10490, 250, due_on, "K-4711"),
        debtor=DebtorName(first_name="Erika", last_name="Mustermann"),
        creditor=_CREDITOR,
        today=date(2026, 2, 26),
        landing=LandingFacts(f"https://claims.nordwind.example/q/{number:022d}", "7K3M-9QXA-4TZB"),
    )
    return encode_sheet(render_letter(_TEMPLATE, {}, "de", facts, _POST).sheet)
