"""The entries of bank statements that a user must assign: the suggestions for each, and the user's
decision."""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.listing.list_statements import (
    MAX_COUNTED_OPEN,
    count_open_transactions,
    load_claims_to_match,
)
from dunwell.cases.statements.matches.again.match_again import (
    MatchingFailed,
    can_match_again,
    match_entry_again,
)
from dunwell.cases.statements.matches.assign_transactions import (
    OpenTransaction,
    TransactionShare,
    assign_transactions,
    list_open_transactions,
    record_without_claim,
)
from dunwell.cases.statements.store import StatementAccount
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter, ClaimRow
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.portal.statements.routes_accounts import get_account
from dunwell.interfaces.portal.statements.undo import parse_match_ids, undo_matches
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_form_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound, ValidationError

_ENTRIES_PER_PAGE = 20
_MAX_SKIPPED = 200
_MAX_CHOICES = 8
_MAX_TYPED = 200
_MAX_DIGITS = 12


class EntryForm(msgspec.Struct, frozen=True):
    """The form of the entry `key` (id, number), shown again with what the user sent. `choices` are
    the claims that the text `typed` may mean. `error` is the code of the fault."""

    key: tuple[UUID, int]
    typed: str = ""
    choices: Sequence[int] = ()
    note: str = ""
    error: str = ""


class BankEntriesPage(Page, frozen=True):
    """Open entries of an account, the oldest first, without the first `skip` ones. `new_match_ids`
    are the matches that were just made, which can be undone. `matchable` are the entries (id,
    number) that can be matched again."""

    template: ClassVar[str] = "bank_entries.html"
    area: ClassVar[str] = "payments"

    account: StatementAccount
    opened: Sequence[OpenTransaction]
    matchable: frozenset[tuple[UUID, int]]
    claims: Mapping[int, ClaimRow]
    open_count: int
    skip: int
    has_more: bool
    sent: EntryForm | None
    new_match_ids: Sequence[UUID]
    result_code: str
    max_counted: int = MAX_COUNTED_OPEN


@at_merchant
async def get_entries_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_entries_page(site, request, access, None)


@takes_form_at_merchant
async def decide_entry(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Assign an entry to claims, search for its claim, match it again, record it without a claim,
    or undo."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    if fields["do"] == "undo":
        done = await undo_matches(site, access, fields.all("match"))
        return _redirect(site, request, access, done)
    number = fields["number"]
    if not _is_number(number):
        raise NotFound("There is no such entry.")
    key = parse_form_id(fields, "entry_id"), int(number)
    named = {"find": _assign_typed, "aside": _record_without_claim, "match": _match_again}
    decide = named.get(fields["do"], _assign)
    try:
        return await decide(site, request, access, fields, key=key)
    except InvalidState:
        return _redirect(site, request, access, "changed")
    except ValidationError:
        return _redirect(site, request, access, "other_currency")


async def _assign(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields,
    key: tuple[UUID, int],
) -> Response:  # fmt: skip
    """Assign the entry to the claims of a suggestion, with the cents for each."""
    shares = []
    for each in fields.all("share"):
        claim_id, _, cents = each.partition(":")
        if not (_is_number(claim_id) and _is_number(cents)):
            raise NotFound("There is no such claim.")
        shares.append(TransactionShare(*key, int(claim_id), int(cents)))
    return await _match_entry(site, request, access, shares)


async def _assign_typed(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields,
    key: tuple[UUID, int],
) -> Response:  # fmt: skip
    """Assign the entry to the claim with the typed reference or number. A debtor's name selects no
    claim: the claims with this name are shown to choose from."""
    typed, left = fields.text("typed")[:_MAX_TYPED], fields["left_cents"]
    if not _is_number(left):
        raise NotFound("There is no such entry.")
    async with site.open_work(access) as work:
        named = await _find_named_claim(work, typed)
        choices = [] if named is not None else await _search_claims(work, typed)
    if named is not None:
        shares = [TransactionShare(*key, named, int(left))]
        return await _match_entry(site, request, access, shares)
    error = "" if choices else "NOT_FOUND" if typed else "REQUIRED"
    sent = EntryForm(key, typed, choices, error=error)
    return await _render_entries_page(site, request, access, sent)


async def _find_named_claim(work: Work, typed: str) -> int | None:
    """Find the claim with this reference number, or else with this claim number. Return None if
    there is none or several."""
    if not typed:
        return None
    wanted = ClaimFilter(reference_number=typed)
    found = [each.claim_id for each in (await list_claims(work, limit=2, wanted=wanted)).items]
    if not found and _is_number(typed):
        found = list(await load_claims_to_match(work, [int(typed)]))
    return found[0] if len(found) == 1 else None


async def _search_claims(work: Work, typed: str) -> list[int]:
    try:
        found = await search_claims(work, typed, limit=_MAX_CHOICES)
    except ValidationError:
        return []
    return [each.claim_id for each in found.items]


async def _match_entry(
    site: PortalSite, request: PortalRequest, access: MerchantAccess,
    shares: Sequence[TransactionShare],
) -> Response:  # fmt: skip
    async with site.open_work(access) as work:
        await get_account(work, request.path_params["account"])
        matches = await assign_transactions(work, shares)
    match_ids = ",".join(str(each.match_id) for each in matches)
    return _redirect(site, request, access, "assigned", undo=match_ids)


async def _match_again(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields,
    key: tuple[UUID, int],
) -> Response:  # fmt: skip
    try:
        async with site.open_work(access) as work:
            is_matched = await match_entry_again(work, *key)
    except MatchingFailed:
        return _redirect(site, request, access, "failed")
    return _redirect(site, request, access, "matched" if is_matched else "unmatched")


async def _record_without_claim(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields,
    key: tuple[UUID, int],
) -> Response:  # fmt: skip
    note = fields.text("note")
    try:
        async with site.open_work(access) as work:
            match = await record_without_claim(work, *key, note)
    except ValidationError:
        sent = EntryForm(key, note=note, error="NOTE")
        return await _render_entries_page(site, request, access, sent)
    return _redirect(site, request, access, "aside", undo=str(match.match_id))


def _redirect(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, done: str, undo: str = ""
) -> Response:
    return site.redirect(
        request, access, "bank_entries", account=request.path_params["account"],
        skip=_parse_skip(request) or "", done=done, undo=undo,
    )  # fmt: skip


def _parse_skip(request: PortalRequest) -> int:
    given = request.get_parameter("skip")
    return min(int(given), _MAX_SKIPPED) if _is_number(given) else 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS


async def _render_entries_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, sent: EntryForm | None
) -> Response:
    skip, match_ids = _parse_skip(request), request.get_parameter("undo")
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
        limit = skip + _ENTRIES_PER_PAGE + 1
        listed = await list_open_transactions(work, account.account, limit=limit)
        shown = listed[skip : skip + _ENTRIES_PER_PAGE]
        claim_ids = {
            part.claim_id for each in shown for one in each.suggestions for part in one.parts
        }
        claims = await load_claims_to_match(work, {*claim_ids, *(sent.choices if sent else ())})
        open_count = await count_open_transactions(work, account.account)
    page = BankEntriesPage(
        account=account,
        opened=shown,
        matchable=frozenset(
            each.transaction.key for each in shown if can_match_again(each.transaction)
        ),
        claims=claims,
        open_count=open_count,
        skip=skip,
        has_more=len(listed) > skip + _ENTRIES_PER_PAGE,
        sent=sent,
        new_match_ids=parse_match_ids(match_ids.split(",")) if match_ids else (),
        result_code=request.get_parameter("done"),
    )
    status = 422 if sent and sent.error else 200
    return site.render_merchant_page(request, access, page, status)


PAGES: RoutedPages = {"bank_entries": {"GET": get_entries_page, "POST": decide_entry}}
