"""Bank accounts with their statements, imports of files, and lines of a statement."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import ClassVar

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.statements.bank_accounts import list_bank_accounts
from dunwell.cases.statements.import_statements import (
    cancel_import,
    get_file,
    list_imported_files,
    release_statement,
    submit_file,
)
from dunwell.cases.statements.imported_file import ENDED, ImportedFile
from dunwell.cases.statements.listing.list_statements import (
    ListedStatement,
    MatchedLine,
    count_open_transactions,
    list_statement_lines,
    list_statements,
    load_claims_to_match,
)
from dunwell.cases.statements.matches.again.match_again import (
    can_match_again,
    match_statement_again,
)
from dunwell.cases.statements.store import StatementAccount
from dunwell.contact.escalation.statement_age import StatementLimit
from dunwell.core.claims.lists.store import ClaimRow
from dunwell.interfaces.portal.statements.undo import undo_matches
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.uploads import Upload, takes_upload_at_merchant
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound, ValidationError

_MAX_FILE_BYTES = 10 * 1024 * 1024
_LINES_PER_PAGE = 100


class BankAccountRow(msgspec.Struct, frozen=True, gc=False):
    """An account, how many of its entries are open, and whether its newest statement is older than
    the merchant allows."""

    account: StatementAccount
    open_count: int
    is_stale: bool


class BankPage(Page, frozen=True):
    template: ClassVar[str] = "bank.html"
    area: ClassVar[str] = "payments"

    rows: Sequence[BankAccountRow]


class BankAccountPage(Page, frozen=True):
    """An account with its statements and imported files, and the form that imports a file. `error`
    is the code of the form's fault."""

    template: ClassVar[str] = "bank_account.html"
    area: ClassVar[str] = "payments"

    row: BankAccountRow
    statements: Sequence[ListedStatement]
    files: Sequence[ImportedFile]
    error: str
    result_code: str
    max_file_bytes: int = _MAX_FILE_BYTES


class BankFilePage(Page, frozen=True):
    template: ClassVar[str] = "bank_file.html"
    area: ClassVar[str] = "payments"

    file: ImportedFile
    is_live: bool
    result_code: str


class BankStatementPage(Page, frozen=True):
    """The lines of a statement. `next_after` is the place after which the next page begins.
    `has_matchable` is True if an entry of this page can be matched again."""

    template: ClassVar[str] = "bank_statement.html"
    area: ClassVar[str] = "payments"

    account: StatementAccount
    statement: ListedStatement
    lines: Sequence[MatchedLine]
    claims: Mapping[int, ClaimRow]
    has_matchable: bool
    next_after: str
    result_code: str


async def get_account(work: Work, name: str) -> StatementAccount:
    """Return the bank account with this name. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    found = [each for each in await list_bank_accounts(work) if each.account == name]
    if not found:
        raise NotFound("There is no such bank account.")
    return found[0]


async def _build_row(work: Work, account: StatementAccount, today: date) -> BankAccountRow:
    is_stale, max_age = False, account.max_age_banking_days
    if max_age is not None and account.reported_until is not None and account.closed_at is None:
        limit = StatementLimit(account.account, max_age, account.reported_until)
        is_stale = limit.is_exceeded(today)
    return BankAccountRow(account, await count_open_transactions(work, account.account), is_stale)


@at_merchant
async def get_bank_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    today = site.build_context(request, access).today
    assert today is not None
    async with site.open_work(access) as work:
        accounts = await list_bank_accounts(work)
        rows = [await _build_row(work, each, today) for each in accounts]
    return site.render_merchant_page(request, access, BankPage(rows))


@at_merchant
async def get_account_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_account_page(site, request, access)


async def _submit_statement_file(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, upload: Upload
) -> Response:
    """Store the file, and show the progress of its import."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    content = upload.files.get("file")
    if content is None:
        error = "TOO_LARGE" if upload.too_large else "REQUIRED"
        return await _render_account_page(site, request, access, error)
    account, keys = request.path_params["account"], site.resources.keys
    name = upload.file_names.get("file", "")
    try:
        async with site.open_work(access) as work:
            file = await submit_file(work, keys, account, name, content=content)
    except ValidationError:
        return await _render_account_page(site, request, access, "TOO_LARGE")
    except InvalidState:
        return await _render_account_page(site, request, access, "CLOSED")
    return site.redirect(request, access, "bank_file", file_id=file.file_id)


submit_statement_file = takes_upload_at_merchant(_submit_statement_file, _MAX_FILE_BYTES)


async def _render_account_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, error: str = ""
) -> Response:
    today = site.build_context(request, access).today
    assert today is not None
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
        row = await _build_row(work, account, today)
        statements = await list_statements(work, account.account)
        files = await list_imported_files(work)
    files = [each for each in files if each.account == account.account][:10]
    page = BankAccountPage(row, statements, files, error, result_code=request.get_parameter("done"))
    return site.render_merchant_page(request, access, page, 422 if error else 200)


@at_merchant
async def get_file_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        file = await get_file(work, parse_path_id(request, "file_id"))
    done = request.get_parameter("done")
    page = BankFilePage(file, is_live=file.state not in ENDED, result_code=done)
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_cancel(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    file_id, done = parse_path_id(request, "file_id"), "cancelled"
    try:
        async with site.open_work(access) as work:
            await cancel_import(work, file_id)
    except InvalidState:
        done = "over"
    return site.redirect(request, access, "bank_file", file_id=file_id, done=done)


def _parse_hash(request: PortalRequest) -> bytes:
    try:
        return bytes.fromhex(request.path_params["statement"])
    except ValueError:
        raise NotFound("There is no such statement.") from None


def _parse_place(text: str) -> tuple[int, int]:
    """Parse the place of a line. Return the place before the first line if it is not valid."""
    position, _, number = text.partition("-")
    parts = [each for each in (position, number) if each.isascii() and each.isdecimal()]
    is_place = len(parts) == 2 and all(len(each) < 9 for each in parts)
    return (int(position), int(number)) if is_place else (-1, 0)


@at_merchant
async def get_statement_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    statement_hash, after = _parse_hash(request), _parse_place(request.get_parameter("after"))
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
        listed = await list_statements(work, account.account)
        found = [each for each in listed if each.statement_hash == statement_hash]
        if not found:
            raise NotFound("There is no such statement.")
        lines = await list_statement_lines(
            work, account.account, statement_hash, after, limit=_LINES_PER_PAGE + 1
        )
        shown = lines[:_LINES_PER_PAGE]
        claim_ids = {one.claim_id for each in shown for one in each.matches if one.claim_id}
        claims = await load_claims_to_match(work, claim_ids)
        transactions = [each.line.transaction for each in shown if each.line.transaction]
    has_more = len(lines) > _LINES_PER_PAGE
    page = BankStatementPage(
        account=account,
        statement=found[0],
        lines=shown,
        claims=claims,
        has_matchable=any(map(can_match_again, transactions)),
        next_after="-".join(map(str, shown[-1].line.place)) if has_more else "",
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def change_statement(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Release a held statement, match its open entries again, or undo a match of one of its
    lines."""
    statement_hash, account = _parse_hash(request), request.path_params["account"]
    redirect_to_statement = partial(
        site.redirect, request, access, "bank_statement",
        account=account, statement=statement_hash.hex(),
    )  # fmt: skip
    if fields["do"] == "undo":
        return redirect_to_statement(done=await undo_matches(site, access, fields.all("match")))
    async with site.open_work(access) as work:
        await get_account(work, account)
        if fields["do"] == "match":
            count = await match_statement_again(work, account, statement_hash)
            return redirect_to_statement(done="matching" if count else "none_open")
    try:
        async with site.open_work(access) as work:
            await release_statement(work, account, statement_hash)
    except NotFound:
        return redirect_to_statement(done="not_held")
    return redirect_to_statement(done="released")


PAGES: RoutedPages = {
    "bank": {"GET": get_bank_page},
    "bank_account": {"GET": get_account_page, "POST": submit_statement_file},
    "bank_file": {"GET": get_file_page, "POST": submit_cancel},
    "bank_statement": {"GET": get_statement_page, "POST": change_statement},
}
