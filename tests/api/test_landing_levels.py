"""The level that each address requires before it shows or changes anything of its own claim."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.cases.direct_debit.debit_values import build_reference as build_mandate_reference
from dunwell.interfaces.landing.session.session import (
    SESSION_LIFETIME,
    Level,
    derive_form_token,
    hash_value,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.digests import Digests, digest_tables, find_changed
from tests.support.direct_debits import DEBTOR_IBAN
from tests.support.files import an_image
from tests.support.full_claim import FullClaim, a_full_claim
from tests.support.guarded_landing import read_sent_code
from tests.support.landing import OWN_FORM, Browser
from tests.support.one_claim import ROUTES

# No session is required.
OPEN = None
LINK, FACT, CODE = Level.LINK, Level.FACT, Level.CODE
# The required level by address and method (PAGES, personal data). The reason in the path reveals
# what the claim is for, and the dispute was opened by another session.
NEEDED: dict[str, dict[str, Level | None]] = {
    "/q": {"GET": OPEN, "POST": OPEN},
    "/q/new-link": {"GET": OPEN, "POST": OPEN},
    "/q/new-link/sent": {"GET": OPEN},
    "/q/{token}": {"GET": OPEN, "POST": OPEN},
    "/q/{token}/send": {"GET": OPEN, "POST": OPEN},
    "/q/{token}/code": {"GET": OPEN, "POST": OPEN},
    "/q/{token}/notices": {"GET": OPEN},
    "/u/{reference}": {"GET": OPEN, "POST": OPEN},
    "/real": {"GET": OPEN, "POST": OPEN},
    "/": {"GET": OPEN},
    "/imprint": {"GET": OPEN},
    "/impressum": {"GET": OPEN},
    "/claim": {"GET": LINK},
    "/claim/pay": {"GET": LINK},
    "/claim/pay/method": {"GET": LINK, "POST": LINK},
    "/claim/pay/transfer": {"GET": LINK},
    "/claim/pay/code.png": {"GET": LINK},
    "/claim/pay/sent": {"GET": LINK, "POST": LINK},
    "/claim/options": {"GET": LINK},
    "/claim/plan": {"GET": FACT},
    "/claim/plan/check": {"GET": FACT, "POST": FACT},
    "/claim/later": {"GET": FACT},
    "/claim/later/check": {"GET": FACT, "POST": FACT},
    "/claim/modality/{modality_id}": {"GET": FACT},
    "/claim/modality/{modality_id}/pdf": {"GET": FACT},
    "/claim/modality/{modality_id}/email": {"GET": LINK, "POST": FACT},
    "/claim/modality/{modality_id}/mandate": {"GET": FACT, "POST": FACT},
    "/claim/modality/{modality_id}/mandate/pdf": {"GET": FACT},
    "/claim/modality/{modality_id}/mandate/revoke": {"GET": LINK, "POST": FACT},
    "/claim/modality/{modality_id}/withdraw": {"GET": FACT, "POST": FACT},
    "/claim/help": {"GET": LINK, "POST": FACT},
    "/claim/dispute": {"GET": LINK},
    "/claim/dispute/{reason}": {"GET": FACT, "POST": FACT},
    "/claim/disputes/{dispute_id}": {"GET": LINK},
    "/claim/disputes/{dispute_id}/files": {"GET": LINK, "POST": FACT},
    "/claim/disputes/{dispute_id}/withdraw": {"GET": FACT, "POST": FACT},
    "/claim/return/{request_id}": {"GET": LINK},
    "/claim/receipt/{request_id}": {"GET": LINK},
    "/claim/receipt/{request_id}/pdf": {"GET": LINK},
    "/claim/receipt/{request_id}/email": {"GET": LINK, "POST": FACT},
    "/claim/room": {"GET": LINK, "POST": LINK},
    "/claim/others": {"GET": CODE},
    "/claim/others/{other}": {"GET": LINK, "POST": CODE},
    "/claim/verify": {"GET": OPEN},
    "/claim/verify/{place}": {"GET": LINK, "POST": LINK},
    "/claim/verify/{place}/letter": {"GET": OPEN, "POST": LINK},
    "/claim/verify/{place}/send": {"GET": OPEN, "POST": LINK},
    "/claim/verify/{place}/code": {"GET": LINK, "POST": LINK},
    "/claim/extend": {"GET": OPEN, "POST": LINK},
    "/claim/end": {"GET": OPEN, "POST": LINK},
    "/claim/ended": {"GET": OPEN},
    "/claim/notices": {"GET": OPEN},
    "/claim/documents": {"GET": FACT},
    "/claim/documents/{attachment_id}": {"GET": FACT},
    "/claim/preferences": {"GET": FACT},
    "/claim/preferences/language": {"GET": LINK, "POST": FACT},
    "/claim/preferences/channels": {"GET": LINK, "POST": FACT},
    "/claim/preferences/{what}": {"GET": CODE, "POST": CODE},
    "/claim/preferences/{what}/code": {"GET": CODE, "POST": CODE},
    "/claim/preferences/{what}/send": {"GET": LINK, "POST": CODE},
    "/claim/assets/{name}": {"GET": OPEN},
    "/claim/brand/{merchant_id}/{revision}/{name}": {"GET": OPEN},
}
# Addresses that are not found at the level of a link.
_HIDDEN = [("/claim/receipt/{request_id}/email", "POST")]
_CHOICE = {"cents": "1000", "shown": "1000"}
# The fields of each form, in an order in which each has an effect. Forms of a bare claim need one
# without disputes and requests.
FORMS: dict[str, dict[str, str]] = {
    "/claim/others/{other}": {},
    "/claim/pay/method": {**_CHOICE, "provider": "sandbox"},
    "/claim/dispute/{reason}": {"do": "send", "message": "See"},
    "/claim/disputes/{dispute_id}/files": {},
    "/claim/disputes/{dispute_id}/withdraw": {},
    "/claim/modality/{modality_id}/email": {},
    "/claim/modality/{modality_id}/mandate": {"holder": "Alex Example", "iban": DEBTOR_IBAN},
    "/claim/modality/{modality_id}/mandate/revoke": {},
    "/claim/modality/{modality_id}/withdraw": {},
    "/claim/plan/check": {"count": "3", "first": "2026-03-16", "shown": "9240"},
    "/claim/receipt/{request_id}/email": {},
    "/claim/pay/sent": {**_CHOICE, "sent": "2026-03-02"},
    "/claim/preferences/{what}": {"address": "new@example.org"},
    "/claim/preferences/{what}/send": {},
    "/claim/preferences/{what}/code": {},
    "/claim/preferences/language": {"language": "en"},
    "/claim/preferences/channels": {"SMS": "use"},
    "/claim/verify/{place}": {"fact": "20095"},
    "/claim/verify/{place}/letter": {},
    "/claim/verify/{place}/send": {},
    "/claim/verify/{place}/code": {},
    "/claim/help": {},
    "/claim/later/check": {"until": "2026-03-31", "shown": "10240"},
    "/claim/room": {"do": "back"},
    "/claim/extend": {},
    "/claim/end": {},
}
_BARE = ("/claim/help", "/claim/later/check")
_WITH_FILES = ("/claim/dispute/{reason}", "/claim/disputes/{dispute_id}/files")
# These forms save their input even if the session has ended: see test_landing_drafts,
# test_landing_evidence and test_landing_typed_addresses.
_KEEPING = {
    ("/claim/dispute/{reason}", "POST"),
    ("/claim/disputes/{dispute_id}/files", "POST"),
    ("/claim/preferences/{what}", "POST"),
}
_FOREIGN = {"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}


@pytest.fixture
async def full_claim(resources: Resources, clock: MovableClock) -> AsyncIterator[FullClaim]:
    async with a_full_claim(resources, clock) as full_claim:
        yield full_claim


def list_needing(*levels: Level | None) -> Iterator[tuple[str, str]]:
    """List the addresses and methods that require one of these levels."""
    for address, methods in NEEDED.items():
        yield from ((address, method) for method, level in methods.items() if level in levels)


def test_every_address_has_a_required_level() -> None:
    assert {path: set(runs) for path, runs in ROUTES.items()} == {
        address: set(methods) for address, methods in NEEDED.items()
    }
    assert {address for address, method in list_needing(*Level) if method == "POST"} == set(FORMS)


@pytest.mark.parametrize("level", [LINK, FACT])
async def test_below_its_level_an_address_shows_and_changes_nothing(
    full_claim: FullClaim, level: Level
) -> None:
    visitor = await full_claim.enter(level)
    higher = [each for each in Level if each is not level and each.reaches(level)]
    before = await digest_tables(full_claim.landing.payments.resources.database)

    for address, method in list_needing(*higher):
        answer = await ask(full_claim, visitor, address, method)
        if (address, method) in _HIDDEN:
            assert answer.status_code == 404, address
        else:
            assert answer.status_code == 303, (method, address)
            assert answer.headers["Location"].startswith("/claim/verify?for="), (method, address)
            assert answer.content == b""
    await check_unchanged(full_claim, before)


async def test_at_its_level_an_address_requires_no_more_proof(full_claim: FullClaim) -> None:
    for level in Level:
        visitor = await full_claim.enter(level)
        for address, method in list_needing(level):
            if method == "GET":
                answer = await ask(full_claim, visitor, address, method)
                assert answer.status_code in (200, 303), address
                assert "/claim/verify?" not in answer.headers.get("Location", ""), address


async def test_at_its_level_each_form_has_an_effect(
    full_claim: FullClaim, clock: MovableClock
) -> None:
    bare = await add_bare_claim(full_claim)
    visitors = {level: await full_claim.enter(level) for level in Level}

    for address in FORMS:
        claim, level = bare if address in _BARE else full_claim, NEEDED[address]["POST"]
        assert level is not None
        is_lasting = level is not LINK and claim is full_claim
        visitor = visitors[level] if is_lasting else await claim.enter(level)
        clock.advance(timedelta(minutes=1))  # Requests within ten seconds count as a double click.
        given = await read_proof(full_claim, address)
        before = await digest_tables(full_claim.landing.payments.resources.database)
        answer = await ask(claim, visitor, address, "POST", **given)
        after = await digest_tables(full_claim.landing.payments.resources.database)
        assert answer.status_code == 303, (address, answer.status_code)
        assert find_changed(before, after) != [], address


@pytest.mark.parametrize("state", ["absent", "ended", "timed out"])
async def test_without_a_live_session_nothing_is_shown(
    full_claim: FullClaim, clock: MovableClock, state: str
) -> None:
    visitor = full_claim.landing.visitor()
    if state != "absent":
        used = await full_claim.enter(CODE)
        visitor.http.cookies.update(used.http.cookies)
        if state == "ended":
            await ask(full_claim, used, "/claim/end", "POST")
        else:
            clock.advance(SESSION_LIFETIME)
    before = await digest_tables(full_claim.landing.payments.resources.database)

    for address, method in list_needing(*Level):
        if state != "absent" and (address, method) in _KEEPING:
            continue
        answer = await ask(full_claim, visitor, address, method)
        assert answer.status_code == 403, (method, address)
        assert "INV-1001" not in answer.text, (method, address)
    await check_unchanged(full_claim, before)


async def test_another_claims_session_is_refused(full_claim: FullClaim) -> None:
    stranger = await (await add_bare_claim(full_claim)).enter(CODE)
    before = await digest_tables(full_claim.landing.payments.resources.database)

    for address, method in list_needing(*Level):
        if re.search(r"\{\w+_id\}", address):
            answer = await ask(full_claim, stranger, address, method)
            while answer.status_code == 303:
                answer = await stranger.get(answer.headers["Location"])
            assert answer.status_code == 404, (method, address)
    await check_unchanged(full_claim, before)


async def test_a_form_of_another_session_or_site_is_refused(full_claim: FullClaim) -> None:
    visitors = {level: await full_claim.enter(level) for level in Level}
    others = find_token(full_claim, await full_claim.enter(LINK, "203.0.113.9"))
    before = await digest_tables(full_claim.landing.payments.resources.database)

    for address, method in list_needing(*Level, OPEN):
        # The form of mail programs is not ours: its address is the proof.
        if method != "POST" or address == "/u/{reference}":
            continue
        level = NEEDED[address]["POST"]
        visitor = visitors[level] if level else full_claim.landing.visitor()
        for headers in _FOREIGN:
            answer = await ask(full_claim, visitor, address, method, headers=headers)
            assert answer.status_code == 403, (address, headers)
        for token in ("", "x", others) if level else ():
            if token == others and (address, method) in _KEEPING:
                continue
            answer = await ask(full_claim, visitor, address, method, token=token)
            assert answer.status_code == 403, (address, token)
    await check_unchanged(full_claim, before)


async def ask(
    full_claim: FullClaim, visitor: Browser, address: str, method: str, /, **given: Any
) -> httpx.Response:
    """Request the address as the page's own form or link would. `given` are headers and additional
    fields."""
    if method == "GET":
        return await visitor.http.get(full_claim.build_link(address))
    path, headers = full_claim.fill(address), given.pop("headers", OWN_FORM)
    fields = {"token": find_token(full_claim, visitor), **FORMS.get(address, {}), **given}
    if address not in _WITH_FILES:
        return await visitor.http.post(path, data=fields, headers=headers)
    parts: list[Any] = [(name, (None, text)) for name, text in fields.items()]
    parts.append(("files", ("photo.png", an_image("PNG"))))
    return await visitor.http.post(path, files=parts, headers=headers)


def find_token(full_claim: FullClaim, visitor: Browser) -> str:
    """Return the form token of the visitor's session, or ""."""
    session_hash = hash_value(visitor.cookie or "")
    if session_hash is None:
        return ""
    return derive_form_token(full_claim.landing.payments.resources.keys, session_hash)


async def read_proof(full_claim: FullClaim, address: str) -> dict[str, str]:
    """Return the code or reference that some of the forms require."""
    if address.endswith("/mandate"):
        modality_id = full_claim.ids["modality_id"]
        return {"reference": build_mandate_reference(full_claim.claim_id, modality_id, 1)}
    if address.endswith("/letter"):
        return {"code": await full_claim.landing.give_code(full_claim.claim_id)}
    return {"code": await read_sent_code(full_claim.landing)} if address.endswith("/code") else {}


async def add_bare_claim(full_claim: FullClaim) -> FullClaim:
    """Add another claim of the merchant, without disputes and requests."""
    [claim_id] = await full_claim.landing.payments.harness.create(
        "INV-2", email="other@example.org"
    )
    return FullClaim(full_claim.landing, claim_id, full_claim.ids)


async def check_unchanged(full_claim: FullClaim, before: Digests) -> None:
    after = await digest_tables(full_claim.landing.payments.resources.database)
    assert find_changed(before, after) == []
