"""Pages without a link: checking whether a message is ours, and requesting a new link."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.claim_links import (
    TOKEN_LENGTH,
    hash_token,
    list_check_digests,
    list_code_digests,
    parse_check,
    parse_code,
)
from dunwell.interfaces.landing.sign_in.attempt_limits import Slowed, WrongTry
from dunwell.interfaces.landing.sign_in.requested_links import ask_link
from dunwell.interfaces.landing.sign_in.store import (
    AskedLink,
    Checked,
    find_checked,
    find_code,
    find_link,
    load_letter_sums,
)
from dunwell.interfaces.landing.sign_in.verification import is_known_amount
from dunwell.interfaces.landing.sign_in.views import NewLinkPage, NewLinkSentPage, RealPage
from dunwell.interfaces.landing.sign_in.visitor_limits import (
    admit_codes,
    count_visitors_wrong,
    digest_visitor,
)
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.problems import answer_problem, too_many
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Whose message it is."""

    merchant: Merchant
    is_letter: bool


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """What somebody has copied from a message. origin: of our pages."""

    code: str
    amount: str
    origin: str

    def read_token(self) -> str | None:
        """Of a link to our own pages, or of its last part; None: it is no such link. A link within
        other words does not count: those may lead elsewhere."""
        scheme, _, host = self.origin.partition("://")
        link = (
            rf"(?:(?:{scheme}://)?{re.escape(host)}/q/)?([A-Za-z0-9_-]{{{TOKEN_LENGTH}}})[.,;:!?]*"
        )
        found = re.fullmatch(link, self.code.strip(), re.ASCII | re.IGNORECASE)
        return None if found is None else found[1]


async def check_message(
    tx: Connection, keys: KeyRing, typed: TypedMessage, visitor: bytes, now: datetime
) -> Confirmed | WrongTry | Slowed:
    """What it wrote is to be committed, whatever it answers."""
    code, token = typed.code, typed.read_token()
    known = await admit_codes(tx, visitor, now)
    if isinstance(known, Slowed):
        return known
    is_letter = parse_code(code) is not None
    if not is_letter and parse_check(code) is None and token is None:
        # Not a guess: a slip of the finger.
        return WrongTry()
    found = await _find(tx, keys, code) if token is None else await _find_linked(tx, token)
    for each in found:
        if token is not None and not typed.amount.strip():
            return Confirmed(each.merchant, is_letter)
        sums = await load_letter_sums(tx, each.merchant.merchant_id, each.claim_id)
        if sums is not None and is_known_amount(typed.amount, sums):
            return Confirmed(each.merchant, is_letter)
    return await count_visitors_wrong(tx, visitor, known, now)


async def _find_linked(tx: Connection, token: str) -> Sequence[Checked]:
    way = await find_link(tx, hash_token(token))
    return [] if way is None else [Checked(way.merchant, way.claim_id)]


async def _find(tx: Connection, keys: KeyRing, typed: str) -> Sequence[Checked]:
    """Those whose code it is: a letter's leads to one claim, a shorter one may lead to two."""
    code = parse_code(typed)
    if code is not None:
        way = await find_code(tx, list_code_digests(keys, code))
        return [] if way is None else [Checked(way.merchant, way.claim_id)]
    short = parse_check(typed)
    return [] if short is None else await find_checked(tx, list_check_digests(keys, short))


async def show_form(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(await site.find_frame(visit), RealPage(None))


async def check(site: DebtorSite, visit: DebtorRequest) -> Response:
    form, frame = await visit.read_form(), await site.find_frame(visit)
    keys = site.resources.keys
    typed = TypedMessage(
        form.get("code", ""), form.get("amount", ""), site.resources.settings.public_url
    )
    visitor = digest_visitor(keys, visit.client_host)
    async with site.resources.database.transaction() as tx:
        found = await check_message(tx, keys, typed, visitor=visitor, now=site.now())
    if isinstance(found, Slowed):
        return answer_problem(site, frame, too_many(found.retry_after_seconds, "SLOWED"))
    if isinstance(found, WrongTry):
        return site.answer(frame, RealPage("UNCONFIRMED"), 422)
    outcome = "LETTER" if found.is_letter else "MESSAGE"
    return site.answer(site.frame(visit, found.merchant), RealPage(outcome))


async def show_new_link_form(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), NewLinkPage(()))


async def ask(site: DebtorSite, visit: DebtorRequest) -> Response:
    form, frame = await visit.read_form(), site.frame(visit)
    reference, contact = (form.get(name, "").strip() for name in ("reference", "contact"))
    faults = [name for name, given in (("reference", reference), ("contact", contact)) if not given]
    if faults:
        return site.answer(frame, NewLinkPage(faults), 422)
    resources, now = site.resources, site.now()
    asked = AskedLink(reference, contact, now)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        locked = await ask_link(tx, resources.ids.new(now), asked, visitor)
    if locked is not None:
        return answer_problem(site, frame, too_many(locked.retry_after_seconds, "ASKED_OFTEN"))
    return site.redirect(frame, "new_link_sent")


async def show_sent(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), NewLinkSentPage())


PAGES: RoutedPages = {
    "real": {"GET": show_form, "POST": check},
    "new_link": {"GET": show_new_link_form, "POST": ask},
    "new_link_sent": {"GET": show_sent},
}
