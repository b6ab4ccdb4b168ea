"""The suppression list: addresses that are not contacted, adding one and removing one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, get_args

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import CHANNELS, Channel
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
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, Sorting, load_page, parse_sorting
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, NotFound, ValidationError


class SuppressionsPage(Page, frozen=True):
    """The suppression list with the form that adds an address.

    `typed` are the form's values by field name, `faults` pairs of a field name and the code of its
    fault. `result_code` is the result of the last action, or "".
    """

    template: ClassVar[str] = "suppressions.html"
    area: ClassVar[str] = "messages"

    suppressions: Sequence[SuppressionEntry]
    sorting: Sorting
    after: str
    next_cursor: str | None
    typed: Mapping[str, str]
    faults: Sequence[tuple[str, str]]
    result_code: str


class RemovalPage(Page, frozen=True):
    """The form that removes an address from the suppression list.

    `revision` is the time when the entry was created. `has_fault` is true if the reason is missing,
    `is_conflict` if the entry was replaced after the form was opened.
    """

    template: ClassVar[str] = "suppression.html"
    area: ClassVar[str] = "messages"

    suppression: SuppressionEntry
    revision: str
    has_fault: bool
    is_conflict: bool


_REASONS: tuple[SuppressionReason, ...] = get_args(SuppressionReason)
_LIFT_REASONS: tuple[LiftReason, ...] = get_args(LiftReason)
_FIELD_NAMES = ("channel", "address", "reason")
_MAX_DIGEST_CHARACTERS = 64


@at_merchant
async def get_suppressions_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_list_page(site, request, access, dict.fromkeys(_FIELD_NAMES, ""))


@takes_form_at_merchant
async def submit_address(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    typed = {name: fields.text(name) for name in _FIELD_NAMES}
    channel = next((each for each in CHANNELS if each == typed["channel"]), None)
    reason = next((each for each in _REASONS if each == typed["reason"]), None)
    given = {"channel": channel, "address": typed["address"], "reason": reason}
    faults = [(name, "REQUIRED") for name, value in given.items() if not value]
    if channel and typed["address"]:
        try:
            check_address(channel, typed["address"])
        except ValidationError:
            faults.append(("address", channel))
    async with site.open_work(access) as work:
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
        return await _render_list_page(site, request, access=access, typed=typed, faults=faults)
    return site.redirect(
        request, access, "suppressions", done="added" if is_new else "added_before"
    )


async def _render_list_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, typed: Mapping[str, str],
    faults: Sequence[tuple[str, str]] = (),
) -> Response:  # fmt: skip
    after, sorting = (
        request.get_parameter("after"),
        parse_sorting(request.get_parameter("sort"), {"time"}, "-time"),
    )
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_suppressions(
                work, limit=PAGE_SIZE, cursor=cursor, oldest_first=not sorting.is_descending
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
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


@at_merchant
async def get_removal_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_removal_page(site, request, access)


@takes_form_at_merchant
async def submit_removal(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Remove an address from the list.

    If someone else has removed it, the list says so. If it was also added again, the form is shown
    once more with the new entry.
    """
    channel, digest = _parse_entry_path(request)
    reason = next((each for each in _LIFT_REASONS if each == fields["reason"]), None)
    try:
        created_at = datetime.fromisoformat(fields["revision"])
    except ValueError:
        created_at = None
    if reason is None or created_at is None or created_at.tzinfo is None:
        return await _render_removal_page(site, request, access, has_fault=True)
    try:
        async with site.open_work(access) as work:
            await lift_suppression_entry(
                work, channel, digest, seen_created_at=created_at, reason=reason
            )
    except EditConflict:
        try:
            return await _render_removal_page(site, request, access, is_conflict=True)
        except NotFound:
            return site.redirect(request, access, "suppressions", done="lifted_before")
    return site.redirect(request, access, "suppressions", done="lifted")


async def _render_removal_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, has_fault: bool = False,
    is_conflict: bool = False,
) -> Response:  # fmt: skip
    """Show the form. Raises NotFound if the address is not on the list."""
    if not access.may(Right.CONTACT_SETTINGS):
        raise NotFound("There is no such page.")
    channel, digest = _parse_entry_path(request)
    async with site.open_work(access) as work:
        entry = await get_suppression(work, channel, digest)
    page = RemovalPage(entry, entry.created_at.isoformat(), has_fault, is_conflict)
    status = 409 if is_conflict else 422 if has_fault else 200
    return site.render_merchant_page(request, access, page, status)


def _parse_entry_path(request: PortalRequest) -> tuple[Channel, bytes]:
    """Return the channel and the digest of the address. Raises NotFound if they are not valid."""
    given, digest = request.path_params["channel"], request.path_params["digest"]
    channel = next((each for each in CHANNELS if each == given), None)
    try:
        digest_bytes = bytes.fromhex(digest[:_MAX_DIGEST_CHARACTERS])
    except ValueError:
        digest_bytes = b""
    if channel is None or not digest_bytes:
        raise NotFound("There is no such page.")
    return channel, digest_bytes


PAGES: RoutedPages = {
    "suppressions": {"GET": get_suppressions_page, "POST": submit_address},
    "suppression": {"GET": get_removal_page, "POST": submit_removal},
}
