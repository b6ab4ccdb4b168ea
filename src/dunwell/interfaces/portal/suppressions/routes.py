"""The suppression list: addresses that are not contacted, adding one and removing one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, get_args

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.suppression import (
    LiftReason,
    SuppressionEntry,
    SuppressionReason,
    check_address,
    get_suppression,
    lift_suppression_entry,
    list_suppressions,
    suppress,
)
from dunwell.interfaces.portal.render.sorting import Sorting, read_sorting
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.paging import PAGE, find_page
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import NotFound, ValidationError


class SuppressionsPage(Page, frozen=True):
    """typed: of the form that adds one, with what is wrong with it by name."""

    template: ClassVar[str] = "suppressions.html"
    area: ClassVar[str] = "messages"

    suppressions: Sequence[SuppressionEntry]
    sorting: Sorting
    after: str
    next_cursor: str | None
    typed: Mapping[str, str]
    faults: Sequence[tuple[str, str]]
    done_here: str


class LiftPage(Page, frozen=True):
    """seen: when the suppression was made, to the microsecond."""

    template: ClassVar[str] = "suppression.html"
    area: ClassVar[str] = "messages"

    suppression: SuppressionEntry
    seen: str
    has_fault: bool


_CHANNELS: tuple[Channel, ...] = get_args(Channel)
_REASONS: tuple[SuppressionReason, ...] = get_args(SuppressionReason)
_LIFT_REASONS: tuple[LiftReason, ...] = get_args(LiftReason)
_NAMES = ("channel", "address", "reason")
_MOST_DIGEST = 64


@at_merchant
async def show_suppressions(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    return await _answer_list(site, visit, access, dict.fromkeys(_NAMES, ""))


@takes_form_at_merchant
async def add(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    typed = {name: fields.text(name) for name in _NAMES}
    channel = next((each for each in _CHANNELS if each == typed["channel"]), None)
    reason = next((each for each in _REASONS if each == typed["reason"]), None)
    given = {"channel": channel, "address": typed["address"], "reason": reason}
    faults = [(name, "REQUIRED") for name, value in given.items() if not value]
    if channel and typed["address"]:
        try:
            check_address(channel, typed["address"])
        except ValidationError:
            faults.append(("address", channel))
    async with site.work(access) as work:
        work.require(Right.CONTACT_SETTINGS)
        if channel and reason and not faults:
            is_new = await suppress(
                work,
                site.resources.keys,
                channel=channel,
                address=typed["address"],
                reason=reason,
            )
    if faults:
        return await _answer_list(site, visit, access=access, typed=typed, faults=faults)
    return site.redirect(visit, access, "suppressions", done="added" if is_new else "added_before")


async def _answer_list(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, typed: Mapping[str, str],
    faults: Sequence[tuple[str, str]] = (),
) -> Response:  # fmt: skip
    after, sorting = visit.ask("after"), read_sorting(visit.ask("sort"), {"time"}, "-time")
    async with site.work(access) as work:
        found = await find_page(
            lambda cursor: list_suppressions(
                work, limit=PAGE, cursor=cursor, oldest_first=not sorting.is_descending
            ),
            after,
        )
    page = SuppressionsPage(
        suppressions=found.items,
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
        typed=typed,
        faults=faults,
        done_here=visit.ask("done"),
    )
    return site.answer_at(visit, access, page, 422 if faults else 200)


@at_merchant
async def show_lifting(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    return await _answer_lifting(site, visit, access, has_fault=False)


@takes_form_at_merchant
async def lift(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Of two who lift the same the second is told; so is who looked at one that was made anew."""
    channel, digest = _read_place(visit)
    reason = next((each for each in _LIFT_REASONS if each == fields["reason"]), None)
    try:
        since = datetime.fromisoformat(fields["known_seen"])
    except ValueError:
        since = None
    if reason is None or since is None or since.tzinfo is None:
        return await _answer_lifting(site, visit, access, has_fault=True)
    done = "lifted"
    try:
        async with site.work(access) as work:
            await lift_suppression_entry(work, channel, digest, since=since, reason=reason)
    except NotFound:
        done = "lifted_before"
    return site.redirect(visit, access, "suppressions", done=done)


async def _answer_lifting(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, has_fault: bool
) -> Response:
    if not access.may(Right.CONTACT_SETTINGS):
        raise NotFound("There is no such page.")
    channel, digest = _read_place(visit)
    async with site.work(access) as work:
        found = await get_suppression(work, channel, digest)
    page = LiftPage(found, found.created_at.isoformat(), has_fault)
    return site.answer_at(visit, access, page, 422 if has_fault else 200)


def _read_place(visit: PortalRequest) -> tuple[Channel, bytes]:
    """Raises NotFound for what can be none."""
    given, digest = visit.path_params["channel"], visit.path_params["digest"]
    channel = next((each for each in _CHANNELS if each == given), None)
    try:
        known = bytes.fromhex(digest[:_MOST_DIGEST])
    except ValueError:
        known = b""
    if channel is None or not known:
        raise NotFound("There is no such page.")
    return channel, known


PAGES: RoutedPages = {
    "suppressions": {"GET": show_suppressions, "POST": add},
    "suppression": {"GET": show_lifting, "POST": lift},
}
