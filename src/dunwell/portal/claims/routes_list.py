"""The list of claims: filters that stand in the address, pages, saved views, a table to download."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.responses import Response

from dunwell.claims.find_claims import count_claims, find_claims
from dunwell.claims.holds import HoldKind
from dunwell.claims.states import Status
from dunwell.claims.store_lists import ClaimFilter
from dunwell.errors import ValidationError
from dunwell.landing.render.amounts import read_amount
from dunwell.merchants.merchant import Merchant
from dunwell.portal.claims.list_views import ClaimsPage, Filters, Row, describe_row
from dunwell.portal.claims.saved_views import end_view, list_views, save_view
from dunwell.portal.claims.search import search_rows
from dunwell.portal.web.looking import read_id
from dunwell.portal.render.addresses import build_address
from dunwell.portal.web.answer import answer_redirect
from dunwell.portal.web.desk import Desk
from dunwell.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Fields, Visit
from dunwell.rollout.read_workflows import list_workflows

PAGE = 50
_NAMES = Filters.__struct_fields__
_MOST_TEXT = 200


@at_merchant
async def show_claims(site: Site, visit: Visit, desk: Desk) -> Response:
    """1. read the filters; what means nothing is told, and left out
    2. a search finds claims by what people call them, the list all that the filters leave
    3. count as far as it is cheap"""
    frame = site.frame(visit, desk)
    filters = Filters(**{name: visit.ask(name)[:_MOST_TEXT] for name in _NAMES})
    wanted, faults = read_filters(filters, desk.merchant, frame.language)
    after = visit.ask("after")
    async with site.work(desk) as work:
        views = await list_views(work, desk.person.user_id)
        workflows = [(str(each.id), each.name) for each in await list_workflows(work)]
        rows, cursor, count, is_more = list[Row](), None, None, False
        if filters.q:
            rows, is_more = await search_rows(work, filters.q, wanted)
        else:
            try:
                found = await find_claims(work, limit=PAGE, cursor=after or None, wanted=wanted)
            except ValidationError:
                found = await find_claims(work, limit=PAGE, wanted=wanted)
            rows, cursor = [describe_row(each) for each in found.claims], found.next_cursor
            counted = await count_claims(work, wanted)
            count, is_more = counted.number, counted.is_more
    page = ClaimsPage(
        filters=filters,
        faults=faults,
        rows=rows,
        count=len(rows) if filters.q else count,
        is_more=is_more,
        after=after,
        next_cursor=cursor,
        currency=desk.merchant.configuration.currency,
        workflows=workflows,
        views=views,
        view_id=next((each.view_id for each in views if _is_same(each.query, filters)), None),
    )
    return site.answer(frame, page)


@takes_form_at_merchant
async def take_view(site: Site, visit: Visit, desk: Desk, fields: Fields) -> Response:
    """Keeps the filters of the list under a name."""
    filters = Filters(**{name: fields.text(name)[:_MOST_TEXT] for name in _NAMES})
    address = build_address("claims", merchant_id=desk.merchant_id, **filters.query)
    query = address.partition("?")[2]
    try:
        async with site.work(desk) as work:
            await save_view(
                work, desk.person.user_id, fields.text("name"), query,
                is_shared=fields["shared"] == "yes",
            )  # fmt: skip
    except ValidationError:
        return site.redirect(visit, desk, "claims", **filters.query, done="view_name")
    return site.redirect(visit, desk, "claims", **filters.query, done="view")


@takes_form_at_merchant
async def drop_view(site: Site, visit: Visit, desk: Desk, _fields: Fields) -> Response:
    async with site.work(desk) as work:
        await end_view(work, desk.person.user_id, read_id(visit, "view_id"))
    return site.redirect(visit, desk, "claims", done="view_end")


@at_merchant
async def go_to_list(_site: Site, _visit: Visit, desk: Desk) -> Response:
    """An address that only takes forms, opened by hand."""
    return answer_redirect(build_address("claims", merchant_id=desk.merchant_id))


def read_filters(
    filters: Filters, merchant: Merchant, language: str
) -> tuple[ClaimFilter, list[tuple[str, str]]]:
    """What they narrow the list to, and which of them mean nothing."""
    faults = list[tuple[str, str]]()
    zone, currency = ZoneInfo(merchant.configuration.timezone), merchant.configuration.currency

    def read_cents(name: str, text: str) -> int | None:
        cents = read_amount(text, currency, language) if text else None
        if text and cents is None:
            faults.append((name, "AMOUNT"))
        return cents

    def read_start(name: str, text: str, days: int) -> datetime | None:
        try:
            day = date.fromisoformat(text) if text else None
        except ValueError:
            faults.append((name, "DAY"))
            return None
        if day is None or not 1900 < day.year < 9000:
            return None
        return datetime.combine(day + timedelta(days=days), time(), zone).astimezone(UTC)

    wanted = ClaimFilter(
        status=_pick(Status, filters.status),
        hold=_pick(HoldKind, filters.hold),
        workflow_id=_read_uuid(filters.workflow),
        least_cents=read_cents("least", filters.least),
        most_cents=read_cents("most", filters.most),
        next_step_since=read_start("due_from", filters.due_from, 0),
        next_step_until=read_start("due_to", filters.due_to, 1),
    )
    return wanted, faults


def _pick(kind: type, text: str) -> object:
    return kind(text) if text in list(kind) else None


def _read_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _is_same(query: str, filters: Filters) -> bool:
    given = build_address("claims", merchant_id=1, **filters.query).partition("?")[2]
    return bool(query) and query == given


PAGES: RoutedPages = {
    "claims": {"GET": show_claims},
    "views": {"GET": go_to_list, "POST": take_view},
    "view_end": {"GET": go_to_list, "POST": drop_view},
}
