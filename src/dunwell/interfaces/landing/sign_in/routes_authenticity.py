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
    parse_check_code,
    parse_code,
)
from dunwell.interfaces.landing.sign_in.attempt_limits import Delayed, WrongAttempt
from dunwell.interfaces.landing.sign_in.requested_links import request_link
from dunwell.interfaces.landing.sign_in.store import (
    CheckedClaim,
    LinkRequest,
    find_access_by_code,
    find_access_by_link,
    list_claims_by_check_code,
    load_letter_amounts,
)
from dunwell.interfaces.landing.sign_in.verification import is_known_amount
from dunwell.interfaces.landing.sign_in.views import AuthenticityPage, NewLinkPage, NewLinkSentPage
from dunwell.interfaces.landing.sign_in.visitor_limits import (
    digest_visitor,
    load_wrong_codes,
    record_wrong_code_of_visitor,
)
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.problems import answer_problem, build_too_many_problem
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class ConfirmedMessage:
    """The merchant whose message was confirmed."""

    merchant: Merchant
    is_letter: bool


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """What a visitor has copied from a message. `origin` is the origin of the debtor's pages."""

    code: str
    amount: str
    origin: str

    def find_token(self) -> str | None:
        """Return the token if `code` is a link to our pages or the last part of one, which is the
        token itself. Return None otherwise: a link within other text does not count, because the
        complete address may lead elsewhere."""
        scheme, _, host = self.origin.partition("://")
        link = (
            rf"(?:(?:{scheme}://)?{re.escape(host)}/q/)?([A-Za-z0-9_-]{{{TOKEN_LENGTH}}})[.,;:!?]*"
        )
        found = re.fullmatch(link, self.code.strip(), re.ASCII | re.IGNORECASE)
        return None if found is None else found[1]


async def verify_message(
    tx: Connection, keys: KeyRing, typed: TypedMessage, visitor: bytes, now: datetime
) -> ConfirmedMessage | WrongAttempt | Delayed:
    """Check whether a message is ours. The caller commits even if it is not, so that the attempt is
    counted."""
    code, token = typed.code, typed.find_token()
    wrong_codes = await load_wrong_codes(tx, visitor, now)
    if isinstance(wrong_codes, Delayed):
        return wrong_codes
    is_letter = parse_code(code) is not None
    if not is_letter and parse_check_code(code) is None and token is None:
        # A typing error, not an attempt to guess.
        return WrongAttempt()
    found = (
        await _list_claims_of_code(tx, keys, code)
        if token is None
        else await _list_claims_of_link(tx, token)
    )
    for each in found:
        if token is not None and not typed.amount.strip():
            return ConfirmedMessage(each.merchant, is_letter)
        amounts = await load_letter_amounts(tx, each.merchant.merchant_id, each.claim_id)
        if amounts is not None and is_known_amount(typed.amount, amounts):
            return ConfirmedMessage(each.merchant, is_letter)
    return await record_wrong_code_of_visitor(tx, visitor, wrong_codes, now)


async def _list_claims_of_link(tx: Connection, token: str) -> Sequence[CheckedClaim]:
    access = await find_access_by_link(tx, hash_token(token))
    return [] if access is None else [CheckedClaim(access.merchant, access.claim_id)]


async def _list_claims_of_code(tx: Connection, keys: KeyRing, typed: str) -> Sequence[CheckedClaim]:
    """List the claims of a code. A letter's code belongs to one claim. The check code of an e-mail
    or text message may belong to several."""
    code = parse_code(typed)
    if code is not None:
        access = await find_access_by_code(tx, list_code_digests(keys, code))
        return [] if access is None else [CheckedClaim(access.merchant, access.claim_id)]
    check_code = parse_check_code(typed)
    return (
        []
        if check_code is None
        else await list_claims_by_check_code(tx, list_check_digests(keys, check_code))
    )


async def get_authenticity_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(await site.load_context(request), AuthenticityPage(None))


async def submit_authenticity_check(site: DebtorSite, request: DebtorRequest) -> Response:
    form, context = await request.read_form(), await site.load_context(request)
    keys = site.resources.keys
    typed = TypedMessage(
        form.get("code", ""), form.get("amount", ""), site.resources.settings.public_url
    )
    visitor = digest_visitor(keys, request.client_host)
    async with site.resources.database.transaction() as tx:
        found = await verify_message(tx, keys, typed, visitor=visitor, now=site.now())
    if isinstance(found, Delayed):
        return answer_problem(
            site, context, build_too_many_problem(found.retry_after_seconds, "SLOWED")
        )
    if isinstance(found, WrongAttempt):
        return site.render_page(context, AuthenticityPage("UNCONFIRMED"), 422)
    outcome = "LETTER" if found.is_letter else "MESSAGE"
    return site.render_page(site.build_context(request, found.merchant), AuthenticityPage(outcome))


async def get_new_link_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(site.build_context(request), NewLinkPage(()))


async def submit_link_request(site: DebtorSite, request: DebtorRequest) -> Response:
    form, context = await request.read_form(), site.build_context(request)
    reference, contact = (form.get(name, "").strip() for name in ("reference", "contact"))
    faults = [name for name, given in (("reference", reference), ("contact", contact)) if not given]
    if faults:
        return site.render_page(context, NewLinkPage(faults), 422)
    resources, now = site.resources, site.now()
    link_request = LinkRequest(reference, contact, now)
    visitor = digest_visitor(resources.keys, request.client_host)
    async with resources.database.transaction() as tx:
        locked = await request_link(tx, resources.ids.new(now), link_request, visitor)
    if locked is not None:
        return answer_problem(
            site, context, build_too_many_problem(locked.retry_after_seconds, "ASKED_OFTEN")
        )
    return site.redirect(context, "new_link_sent")


async def get_link_sent_page(site: DebtorSite, request: DebtorRequest) -> Response:
    return site.render_page(site.build_context(request), NewLinkSentPage())


PAGES: RoutedPages = {
    "real": {"GET": get_authenticity_page, "POST": submit_authenticity_check},
    "new_link": {"GET": get_new_link_page, "POST": submit_link_request},
    "new_link_sent": {"GET": get_link_sent_page},
}
