"""The list of claims with filters, sorting, columns, pages and saved views."""

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.workflow_views import list_workflow_names
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey, count_claims, list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.claims.list_views import (
    ClaimsPage,
    Row,
    choose_columns,
    describe_row,
    end_view,
    list_views,
    read_claim_order,
    read_columns,
    save_view,
    search_rows,
    write_columns,
)
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.claim_filters import Filters, read_filters, read_filters_from
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import note_list, read_id
from dunwell.interfaces.portal.web.paging import PAGE, find_page
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect
from dunwell.platform.errors import ValidationError


@at_merchant
async def show_claims(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """Show the list, or what a search finds. Invalid filters are reported and ignored, and claims
    are counted up to a limit."""
    frame = site.frame(visit, access)
    filters = _read_address(visit)
    if visit.ask_all("column"):
        # Redirect to an address that is short enough to share.
        return site.redirect(visit, access, "claims", **filters.query)
    sorting, order = read_claim_order(filters.sort)
    wanted, faults = read_filters(filters, access.merchant, frame.language)
    after, asked = visit.ask("after"), read_columns(filters.columns)
    async with site.work(access) as work:
        views = await list_views(work, access.person.user_id)
        workflows = [(str(each), name) for each, name in await list_workflow_names(work)]
        rows, cursor, count, is_more = list[Row](), None, None, False
        if filters.q:
            rows, cursor = await search_rows(work, filters.q, wanted, after)
        else:
            found = await find_page(
                lambda cursor: list_claims(
                    work, limit=PAGE, cursor=cursor, wanted=wanted, order=order
                ),
                after,
            )
            rows, cursor = [describe_row(each) for each in found.items], found.next_cursor
            count, is_more = await _count(work, order, wanted)
        await note_list(work, access, filters.query, len(rows))
    page = ClaimsPage(
        filters=filters,
        sorting=sorting,
        shown=choose_columns(asked, [each.claim for each in rows]),
        are_chosen=bool(asked),
        faults=faults,
        rows=rows,
        count=count,
        is_more=is_more,
        after=after,
        next_cursor=cursor,
        currency=access.merchant.configuration.currency,
        workflows=workflows,
        views=views,
        view_id=next((each.view_id for each in views if _is_same(each.query, filters)), None),
    )
    return site.answer(frame, page)


async def _count(work: Work, order: ClaimOrder, wanted: ClaimFilter) -> tuple[int | None, bool]:
    """Return the number of claims up to a limit and whether there are more, or None if counting is
    too expensive."""
    if order.key is SortKey.NEXT_STEP:
        return None, False
    counted = await count_claims(work, wanted)
    return counted.number, counted.is_more


@takes_form_at_merchant
async def submit_view(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Save the filters of the list as a view."""
    filters = read_filters_from(fields.text)
    address = build_address("claims", merchant_id=access.merchant_id, **filters.query)
    query = address.partition("?")[2]
    try:
        async with site.work(access) as work:
            await save_view(
                work, access.person.user_id, fields.text("name"), query,
                is_shared=fields["shared"] == "yes",
            )  # fmt: skip
    except ValidationError:
        return site.redirect(visit, access, "claims", **filters.query, done="view_name")
    return site.redirect(visit, access, "claims", **filters.query, done="view")


@takes_form_at_merchant
async def drop_view(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    async with site.work(access) as work:
        await end_view(work, access.person.user_id, read_id(visit, "view_id"))
    return site.redirect(visit, access, "claims", done="view_end")


@at_merchant
async def redirect_to_list(
    _site: PortalSite, _visit: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the address of a form by hand."""
    return answer_redirect(build_address("claims", merchant_id=access.merchant_id))


def _read_address(visit: PortalRequest) -> Filters:
    """Read the filters. The columns come as one value, or as one checkbox each."""
    filters = read_filters_from(visit.ask)
    ticked = visit.ask_all("column")
    columns = write_columns([*read_columns(filters.columns), *ticked])
    return msgspec.structs.replace(
        filters, sort=read_claim_order(filters.sort)[0].word, columns=columns
    )


def _is_same(query: str, filters: Filters) -> bool:
    given = build_address("claims", merchant_id=1, **filters.query).partition("?")[2]
    return bool(query) and query == given


PAGES: RoutedPages = {
    "claims": {"GET": show_claims},
    "views": {"GET": redirect_to_list, "POST": submit_view},
    "view_end": {"GET": redirect_to_list, "POST": drop_view},
}
