"""Every page of a claim that has one of everything, found by following all links and forms."""

import itertools
import re
from html.parser import HTMLParser

import httpx

from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.crawling import Seen, crawl, find_address, is_page
from tests.support.digests import digest_tables, find_changed
from tests.support.full_claim import FullClaim, Texts, a_full_claim, use_name_as_text
from tests.support.one_claim import ROUTES

# Pages that only redirect, and those of a mandate, which this claim does not have.
_LEADING = {
    "/claim/modality/{modality_id}/mandate/pdf",
    "/claim/modality/{modality_id}/mandate/revoke",
    "/q/{token}/send",
    "/q/{token}/code",
    "/claim/modality/{modality_id}/email",
    "/claim/disputes/{dispute_id}/files",
    "/claim/others/{other}",
    "/claim/room",
    "/imprint",
    "/impressum",
    "/claim/verify",
    "/claim/verify/{place}/letter",
    "/claim/verify/{place}/send",
    "/claim/extend",
    "/claim/end",
    "/claim/preferences/language",
    "/claim/preferences/channels",
    "/claim/preferences/{what}/send",
}
_EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7777777*3 }}%(name)s"
# The debtor's data on file, masked addresses, and the instalments of the plan.
_ON_FILE = re.compile(r"\b20095\b|K-4711|V-2024-9|M.rz 1984|1984-03|erika|\+49171|\*{3}|30,80")
_MARK = re.compile(r"([\w-]+)&lt;script&gt;")
# These come from the configuration, the claim, or `furnish`. A debtor's names are shown as
# initials, and the name of an uploaded file without anything that looks like a folder.
_CREDITORS = {
    "merchant", "legal-name", "street", "town", "register", "representative", "authority",
    "vat-id", "mail", "phone", "hours", "holder",
}  # fmt: skip
# At the level of a link: besides the creditor's texts, what the session itself has entered.
_AT_LINK = {*_CREDITORS, "reference", "person", "draft"}
_SHOWN = {
    *_AT_LINK, "own", "item", "fee", "document", "objection", "own-objection", "record", "answer",
    "refusal", "evidence",
}  # fmt: skip


class _Planted(HTMLParser):
    """Records markup that none of our templates contains."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        source = given.get("src") or ""
        is_planted = tag in ("script", "img") and not source.startswith("/claim/")
        if is_planted or any(name.startswith("on") for name in given):
            self.found.append(str(self.get_starttag_text()))


async def test_no_get_request_changes_anything(resources: Resources, clock: MovableClock) -> None:
    async with a_full_claim(resources, clock) as full_claim:
        seen = [await _load_all_pages(full_claim, level) for level in (Level.LINK, Level.CODE)]
        await full_claim.refuse_plan()
        seen.append(await _load_all_pages(full_claim, Level.CODE))

    shown = {
        find_address(path)
        for answers in seen
        for path, answer in answers.items()
        if answer.status_code == 200
    }
    assert set(ROUTES) - shown == _LEADING


async def test_texts_of_debtors_are_escaped(resources: Resources, clock: MovableClock) -> None:
    async with a_full_claim(resources, clock, _write_evil) as full_claim:
        seen = [await _load_all_pages(full_claim, Level.CODE, _write_evil, "en")]
        await full_claim.refuse_plan(_write_evil)
        seen.append(await _load_all_pages(full_claim, Level.CODE, _write_evil))

    for path, answer in itertools.chain.from_iterable(each.items() for each in seen):
        assert answer.status_code < 500, path
        assert _find_planted(answer) == [], path
    assert set.union(*map(_find_shown, seen)) == _SHOWN


async def test_a_link_alone_shows_no_personal_data(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_full_claim(resources, clock, _write_evil) as full_claim:
        seen = await _load_all_pages(full_claim, Level.LINK, _write_evil)

    for path, answer in seen.items():
        assert _find_planted(answer) == [], path
        assert not is_page(answer) or _ON_FILE.findall(answer.text) == [], path
    assert _find_shown(seen) == _AT_LINK


async def test_no_other_site_can_read_a_response(resources: Resources, clock: MovableClock) -> None:
    async with a_full_claim(resources, clock) as full_claim:
        visitor, stranger = await full_claim.enter(Level.CODE), full_claim.landing.visitor()
        paths = [full_claim.build_link(address) for address in ROUTES]
        paths += ["/claim/assets/session-.js", "/claim/assets/icon-.svg"]
        seen = {path: await visitor.http.get(path) for path in paths}
        seen |= {f"stranger {path}": await stranger.get(path) for path in ("/claim", "/claim/x")}
        seen["foreign"] = await stranger.http.post("/q", headers={"Sec-Fetch-Site": "cross-site"})
        seen["method"] = await stranger.http.put("/q")

    for path, answer in seen.items():
        _check_headers(path, answer)
    assert {answer.status_code for answer in seen.values()} == {200, 303, 403, 404, 405}
    assert {answer.headers.get("Content-Type", "").split(";")[0] for answer in seen.values()} == {
        "", "text/html", "text/css", "text/javascript", "image/png", "image/svg+xml",
        "application/pdf",
    }  # fmt: skip


async def _load_all_pages(
    full_claim: FullClaim,
    level: Level,
    texts: Texts = use_name_as_text,
    language: str | None = None,
) -> Seen:
    """Return all pages that a session of this level reaches, with a draft that was not sent.
    Nothing is changed."""
    visitor = await full_claim.enter(level)
    await full_claim.type_draft(visitor, texts)
    starts = [full_claim.build_link(address) for address in ROUTES]
    starts += [f"/claim/disputes/{full_claim.ids[name]}" for name in ("own", "answered")]
    before = await digest_tables(full_claim.landing.payments.resources.database)
    seen = await crawl(visitor, starts, language)
    after = await digest_tables(full_claim.landing.payments.resources.database)
    assert find_changed(before, after) == []
    return seen


def _write_evil(name: str) -> str:
    return name + _EVIL


def _find_planted(answer: httpx.Response) -> list[str]:
    page, reader = answer.text if is_page(answer) else "", _Planted()
    reader.feed(page)
    return [*reader.found, *re.findall("23333331", page)]


def _find_shown(seen: Seen) -> set[str]:
    """Return the names of the texts that appear on any of these pages."""
    pages = (answer.text for answer in seen.values() if is_page(answer))
    return set(_MARK.findall("".join(pages)))


def _check_headers(path: str, answer: httpx.Response) -> None:
    headers = answer.headers
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin", path
    assert headers["X-Content-Type-Options"] == "nosniff", path
    assert headers["Referrer-Policy"] == "no-referrer", path
    assert headers["X-Robots-Tag"] == "noindex, nofollow, noarchive", path
    if is_page(answer):
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
    elif answer.status_code == 200:
        assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox", path
