"""The limits of pages with a rendered message: they hold no connection and do not block the event
loop while they render and print, and a second page of the same user gets a retry time."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import psutil
import pytest

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.interfaces.portal.web.preview_turns import PreviewLimits, PreviewTurns
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.database.database import Database
from dunwell.platform.database.pool import PoolLimits
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.application import Application
from tests.support.harness import Harness
from tests.support.portal import COOKIE, Clerk, read_fields, sign_in
from tests.support.texts import a_harness_with_prices, a_texts_definition, a_texts_harness
from tests.support.web_processes import Web, a_web

_LETTER = "/texts/preview?template=reminder&language=de&channel=LETTER"
_SHEET = "/texts/preview/pages/1?template=reminder&language=de&channel=LETTER"


class HeldPrinter(LetterPrinter):
    """A printer that prints only after it is released."""

    def __init__(self) -> None:
        super().__init__(1)
        self.is_asked, self.may_print = asyncio.Event(), asyncio.Event()

    async def print_sheet(self, sheet: bytes) -> bytes:
        self.is_asked.set()
        await self.may_print.wait()
        return await super().print_sheet(sheet)


@pytest.fixture
async def printer() -> AsyncIterator[HeldPrinter]:
    printer = HeldPrinter()
    yield printer
    await printer.close()


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


@pytest.fixture
async def path(harness: Harness) -> str:
    return await a_texts_harness(harness)


def an_application_with(resources: Resources, printer: LetterPrinter, **limits: Any) -> Application:
    turns = PreviewTurns(PreviewLimits(**limits))
    return Application(resources, previews=turns, preview_printer=printer)


@pytest.fixture
async def narrow(postgres: EmbeddedPostgres, resources: Resources) -> AsyncIterator[Resources]:
    """Resources with a single connection and a short timeout for it."""
    database = await Database.open(
        postgres.url, size=1, limits=PoolLimits(take_timeout_seconds=0.5)
    )
    yield replace(resources, database=database)
    await database.close()


@pytest.mark.parametrize("page", ["/simulate", _LETTER, _SHEET])
async def test_no_transaction_is_open_while_a_letter_is_printed(
    narrow: Resources, harness: Harness, path: str, printer: HeldPrinter, page: str
) -> None:
    clerk = await sign_in(narrow, an_application_with(narrow, printer).app, harness)
    previewing = asyncio.create_task(clerk.get(path + page))
    await printer.is_asked.wait()

    other = await clerk.get("/claims")

    assert other.status_code == 200
    printer.may_print.set()
    assert (await previewing).status_code == 200


@pytest.mark.parametrize(
    "language_and_texts",
    [
        ("en", "Another preview is still being created", "Try again"),
        ("de", "Eine andere Vorschau wird gerade noch erstellt", "Erneut versuchen"),
    ],
)  # fmt: skip
async def test_a_second_page_of_the_same_user_gets_a_retry_time(
    resources: Resources, harness: Harness, path: str, printer: HeldPrinter,
    language_and_texts: tuple[str, ...],
) -> None:  # fmt: skip
    language, heading, again = language_and_texts
    app = an_application_with(resources, printer, waiting_of_user=0).app
    clerk = await sign_in(resources, app, harness, language=language)
    other = await sign_in(resources, app, harness)
    first = asyncio.create_task(clerk.get(path + _LETTER))
    await printer.is_asked.wait()

    for page in ("/simulate", _LETTER, "/texts/edit?template=reminder&language=de&channel=EMAIL"):
        second = await asyncio.wait_for(clerk.get(path + page), 10)
        assert (second.status_code, second.headers["Retry-After"]) == (429, "5"), page
        assert heading in second.text
        address = clerk.at(path + page).replace("&", "&amp;")
        assert f'<a class="button" href="{address}">{again}</a>' in second.text
    third = await other.get(f"{path}/texts/preview?template=reminder&language=de&channel=EMAIL")
    assert third.status_code == 200
    printer.may_print.set()
    assert (await first).status_code == 200


async def test_a_page_that_exceeds_the_timeout_is_reported(
    resources: Resources, harness: Harness, path: str, printer: HeldPrinter
) -> None:
    app = an_application_with(resources, printer, seconds=0.3).app
    clerk = await sign_in(resources, app, harness)

    page = await asyncio.wait_for(clerk.get(f"{path}/simulate"), 10)

    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert "This preview takes too long" in page.text
    assert "Try again" in page.text


async def test_a_test_message_counts_as_a_preview(
    resources: Resources, harness: Harness, path: str, printer: HeldPrinter
) -> None:
    clerk = await sign_in(
        resources, an_application_with(resources, printer, waiting_of_user=0).app, harness
    )
    mail = f"{path}/texts/preview?template=reminder&language=de&channel=EMAIL"
    token = read_fields((await clerk.get(mail)).text)["token"]
    printing = asyncio.create_task(clerk.get(path + _LETTER))
    await printer.is_asked.wait()

    refused = await asyncio.wait_for(clerk.post(mail, {"token": token}), 10)

    assert refused.status_code == 429
    sent = "SELECT FROM audit_log WHERE merchant_id = $1 AND action = 'text.send_trial'"
    assert await harness.rows(sent) == []
    printer.may_print.set()
    await printing


async def test_the_event_loop_is_not_blocked_while_the_largest_text_is_rendered(
    resources: Resources, harness: Harness, printer: HeldPrinter
) -> None:
    """The parser needs half a second for its paragraphs."""
    texts = {"worst": {"LETTER": {"subject": {"de": "S"}, "body": {"de": "a\n\n" * 6_600}}}}
    step = {"id": 1, "kind": "COMMUNICATION", "name": "L", "channel": "LETTER"}
    steps = [{**step, "template": "worst"}]
    path = await a_texts_harness(harness, a_texts_definition(templates=texts, steps=steps))
    clerk = await sign_in(resources, an_application_with(resources, printer).app, harness)
    page = asyncio.create_task(clerk.get(f"{path}/simulate"))
    longest, last = 0.0, time.perf_counter()
    while not printer.is_asked.is_set():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    printer.may_print.set()
    await page
    assert longest < 0.3


async def _open_attack(harness: Harness) -> str:
    """Create a draft within the limits of each text: a snippet of 19,900 characters used 1,000
    times."""
    body = "{{ outstanding }}\n" + "{{snippet.s}}\n" * 1_000
    steps = [
        {"kind": "COMMUNICATION", "id": n, "name": f"L{n}", "channel": "LETTER", "template": "big"}
        for n in range(1, 26)
    ]
    definition = a_texts_definition(
        templates={"big": {"LETTER": {"subject": {"de": "Brief"}, "body": {"de": body}}}},
        snippets={"s": {"de": "word " * 3_980}}, steps=steps,
    )  # fmt: skip
    return await a_texts_harness(harness, definition)


async def test_twelve_simulations_of_the_largest_draft_do_not_slow_down_other_pages(
    postgres: EmbeddedPostgres, resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(SystemClock().now())
    harness = await a_harness_with_prices(resources, clock)
    attack = await _open_attack(harness)
    clerk, other = [await sign_in(resources, Application(resources).app, harness) for _ in range(2)]
    with a_web(resources.settings.data_dir, postgres.url) as web:
        assert (await asyncio.to_thread(web.call, "GET", "/../readyz")).status_code == 200
        async with _browse(web, clerk) as hostile, _browse(web, other) as calm:
            await calm.get(clerk.at("/claims"))
            pages = [
                asyncio.create_task(hostile.get(clerk.at(f"{attack}/simulate"))) for _ in range(12)
            ]
            slowest = 0.0
            while not all(page.done() for page in pages):
                began = time.perf_counter()
                health, normal = await asyncio.gather(
                    calm.get("/healthz"), calm.get(clerk.at("/claims"))
                )
                slowest = max(slowest, time.perf_counter() - began)
                assert (health.status_code, normal.status_code) == (200, 200)
        assert {page.result().status_code for page in pages} <= {200, 429}
        assert slowest < 3
        assert _measure(web) < 700 * 1024 * 1024


def _browse(web: Web, clerk: Clerk) -> httpx.AsyncClient:
    cookie = f"{COOKIE}={clerk.http.cookies[COOKIE]}"
    return httpx.AsyncClient(base_url=web.origin, headers={"Cookie": cookie}, timeout=30)


def _measure(web: Web) -> int:
    """Return the memory of the process and its children."""
    process = psutil.Process(web.process.pid)
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
