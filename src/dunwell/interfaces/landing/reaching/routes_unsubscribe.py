"""The address that an e-mail's List-Unsubscribe names. Looking at it changes nothing; its POST
comes from a mail program, without cookie and without our form, or from the button on its page. The
address itself is the proof."""

from starlette.responses import Response

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.sending.references import read_reference
from dunwell.contact.sending.report import Reference
from dunwell.interfaces.landing.entering.views import DeadLinkPage
from dunwell.interfaces.landing.reaching.choose_channels import unsubscribe
from dunwell.interfaces.landing.reaching.views import UnsubscribePage
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.http.requests import read_body

# "List-Unsubscribe=One-Click", as a form or in parts.
_MOST_BYTES = 8 * 1024


async def show_unsubscribe(site: DebtorSite, visit: DebtorRequest) -> Response:
    reference, merchant = _read(site, visit), None
    if reference is not None:
        async with site.resources.database.connection() as connection:
            merchant = await load_merchant(connection, reference.merchant_id)
    return _answer(site, visit, merchant, is_done=False)


async def take_unsubscribe(site: DebtorSite, visit: DebtorRequest) -> Response:
    """No redirect: mail programs follow none (RFC 8058, 3.1)."""
    await read_body(visit, _MOST_BYTES)
    reference, merchant = _read(site, visit), None
    if reference is not None:
        async with site.resources.database.transaction() as tx:
            merchant = await load_merchant(tx, reference.merchant_id)
            if merchant is not None:
                work = site.work(tx, merchant, "unsubscribe")
                is_known = await unsubscribe(work, site.resources.keys, reference)
                merchant = merchant if is_known else None
    return _answer(site, visit, merchant, is_done=True)


def _read(site: DebtorSite, visit: DebtorRequest) -> Reference | None:
    return read_reference(site.resources.keys, visit.path_params["reference"])


def _answer(
    site: DebtorSite, visit: DebtorRequest, merchant: Merchant | None, *, is_done: bool
) -> Response:
    """merchant: none: the address leads nowhere any more."""
    if merchant is None:
        return site.answer(site.frame(visit), DeadLinkPage(), 410)
    page = UnsubscribePage(visit.path_params["reference"], is_done)
    return site.answer(site.frame(visit, merchant), page)


PAGES: RoutedPages = {"unsubscribe": {"GET": show_unsubscribe, "POST": take_unsubscribe}}
