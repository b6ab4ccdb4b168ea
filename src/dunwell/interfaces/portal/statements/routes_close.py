"""Close a bank account, and reopen it."""

from typing import ClassVar

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    count_debits_to_release,
    list_collections,
)
from dunwell.cases.statements.bank_accounts import close_bank_account, reopen_bank_account
from dunwell.cases.statements.listing.list_statements import count_open_transactions
from dunwell.cases.statements.store import StatementAccount
from dunwell.contact.escalation.statement_age import normalize_account
from dunwell.interfaces.portal.statements.routes_accounts import get_account
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.database.listed_table import Count
from dunwell.platform.errors import InvalidState, NotFound

_AT_THE_BANK = (CollectionState.RELEASED, CollectionState.DELIVERED)


class BankClosePage(Page, frozen=True):
    """What closing an account does. `debits` is the number of direct debits that wait for their
    release, None if the merchant's direct debits are not credited to this account."""

    template: ClassVar[str] = "bank_close.html"
    area: ClassVar[str] = "payments"

    account: StatementAccount
    open_count: int
    # Whether debtors are asked to transfer to this account.
    is_shown_to_debtors: bool
    debits: Count | None
    has_debits_at_bank: bool


def _check_may_close(access: MerchantAccess) -> None:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")


@at_merchant
async def get_close_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show what closing the account does. If it is closed, redirect to the account's page."""
    _check_may_close(access)
    payment = access.merchant.configuration.payment
    async with site.open_work(access) as work:
        account = await get_account(work, request.path_params["account"])
        if account.closed_at is not None:
            return site.redirect(request, access, "bank_account", account=account.account)
        debit, transfer = payment.direct_debit, payment.bank_account
        collects = debit is not None and normalize_account(debit.account.iban) == account.iban
        debits, _ = await count_debits_to_release(work) if collects else (None, None)
        page = BankClosePage(
            account=account,
            open_count=await count_open_transactions(work, account.account),
            is_shown_to_debtors=(
                transfer is not None and normalize_account(transfer.iban) == account.iban
            ),
            debits=debits,
            has_debits_at_bank=collects and await _has_debits_at_bank(work),
        )
    return site.render_merchant_page(request, access, page)


async def _has_debits_at_bank(work: Work) -> bool:
    """Return whether debits were released whose results are not known."""
    for state in _AT_THE_BANK:
        wanted = CollectionFilter(state, by_bank=True)
        if (await list_collections(work, limit=1, wanted=wanted)).items:
            return True
    return False


@takes_form_at_merchant
async def submit_close(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Close the account, or reopen it. If another user did so before, the page says so."""
    account = request.path_params["account"]
    change, done = close_bank_account, "closed"
    if fields["do"] == "reopen":
        change, done = reopen_bank_account, "reopened"
    try:
        async with site.open_work(access) as work:
            await change(work, account)
    except InvalidState:
        done = "unchanged"
    return site.redirect(request, access, "bank_account", account=account, done=done)


PAGES: RoutedPages = {"bank_close": {"GET": get_close_page, "POST": submit_close}}
