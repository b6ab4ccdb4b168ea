"""The list of claims with filters, sorting, columns, pages and saved views."""

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.workflow_views import list_workflow_names
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey, count_claims, list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.interfaces.portal.claims.list_views import (
    ClaimListRow,
    ClaimsPage,
    choose_columns,
    delete_view,
    describe_row,
    list_views,
    parse_claim_order,
    parse_columns,
    render_columns,
    save_view,
    search_rows,
)
from dunwell.interfaces.portal.render.addresses import build_address
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    parse_path_id,
    record_list_view,
)
from dunwell.interfaces.portal.web.claim_filters import (
    ClaimListFilters,
    get_filters,
    parse_claim_filters,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_redirect
from dunwell.platform.errors import ValidationError


@at_merchant
async def get_claims_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the list, or what a search finds. Invalid filters are reported and ignored, and claims
    are counted up to a limit."""
    context, filters = site.build_context(request, access), _parse_url_filters(request)
    if request.list_parameters("column"):
        # Redirect to a URL that is short enough to share.
        return site.redirect(request, access, "claims", **filters.query)
    sorting, order = parse_claim_order(filters.sort)
    wanted, faults = parse_claim_filters(filters, access.merchant, context.language)
    after, requested_columns = request.get_parameter("after"), parse_columns(filters.columns)
    async with site.open_work(access) as work:
        views = await list_views(work, access.person.user_id)
        workflows = [(str(each), name) for each, name in await list_workflow_names(work)]
        rows, cursor, count, is_more = list[ClaimListRow](), None, None, False
        if filters.q:
            rows, cursor = await search_rows(work, filters.q, wanted, after)
        else:
            found = await load_page(
                lambda cursor: list_claims(
                    work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, order=order
                ),
                after,
            )
            rows, cursor = [describe_row(each) for each in found.items], found.next_cursor
            count, is_more = await _count_claims(work, order, wanted)
        await record_list_view(work, access, filters.query, len(rows))
    page = ClaimsPage(
        filters=filters,
        sorting=sorting,
        shown=choose_columns(requested_columns, [each.claim for each in rows]),
        are_chosen=bool(requested_columns),
        faults=faults,
        rows=rows,
        count=count,
        is_more=is_more,
        after=after,
        next_cursor=cursor,
        currency=access.merchant.configuration.currency,
        workflows=workflows,
        views=views,
        view_id=next((each.view_id for each in views if _has_filters(each.query, filters)), None),
    )
    return site.render_page(context, page)


async def _count_claims(
    work: Work, order: ClaimOrder, wanted: ClaimFilter
) -> tuple[int | None, bool]:
    """Return the number of claims up to a limit and whether there are more, or None if counting is
    too expensive."""
    if order.key is SortKey.NEXT_STEP:
        return None, False
    counted = await count_claims(work, wanted)
    return counted.number, counted.is_more


# The messages about views that are not saved, by the code of the fault. All other faults are of the
# name.
_VIEW_MESSAGES = {"TOO_MANY": "views_full", "TOO_LONG": "view_long"}


@takes_form_at_merchant
async def submit_view(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Save the filters of the list as a view."""
    filters = get_filters(fields.text)
    address = build_address("claims", merchant_id=access.merchant_id, **filters.query)
    query = address.partition("?")[2]
    try:
        async with site.open_work(access) as work:
            await save_view(
                work, access.person.user_id, fields.text("name"), query,
                is_shared=fields["shared"] == "yes",
            )  # fmt: skip
    except ValidationError as refusal:
        message = _VIEW_MESSAGES.get(refusal.faults[0].code, "view_name")
        return site.redirect(request, access, "claims", **filters.query, done=message)
    return site.redirect(request, access, "claims", **filters.query, done="view")


@takes_form_at_merchant
async def submit_view_removal(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    async with site.open_work(access) as work:
        await delete_view(work, access.person.user_id, parse_path_id(request, "view_id"))
    return site.redirect(request, access, "claims", done="view_end")


@at_merchant
async def redirect_to_list(
    _site: PortalSite, _request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand."""
    return build_redirect(build_address("claims", merchant_id=access.merchant_id))


def _parse_url_filters(request: PortalRequest) -> ClaimListFilters:
    """Return the filters in the URL. The columns are one parameter, or one parameter for each
    selected checkbox."""
    filters = get_filters(request.get_parameter)
    selected_columns = request.list_parameters("column")
    columns = render_columns([*parse_columns(filters.columns), *selected_columns])
    return msgspec.structs.replace(
        filters, sort=parse_claim_order(filters.sort)[0].parameter, columns=columns
    )


def _has_filters(query: str, filters: ClaimListFilters) -> bool:
    given = build_address("claims", merchant_id=1, **filters.query).partition("?")[2]
    return bool(query) and query == given


PAGES: RoutedPages = {
    "claims": {"GET": get_claims_page},
    "views": {"GET": redirect_to_list, "POST": submit_view},
    "view_end": {"GET": redirect_to_list, "POST": submit_view_removal},
}
