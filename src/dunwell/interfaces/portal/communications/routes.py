"""Messages over all claims, and resolving those whose delivery status is unknown."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, get_args

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.replies.receive_reply import MAX_LISTED_REPLIES, list_unread_replies
from dunwell.cases.replies.store import UnreadReply
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import resolve_unknown_contact
from dunwell.contact.messages.communications.communication import (
    CommunicationState,
    FoundCommunication,
)
from dunwell.contact.messages.communications.list_communications import (
    CommunicationFilter,
    list_communications,
)
from dunwell.contact.messages.communications.store import load_found_communications
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, Sorting, load_page, parse_sorting
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound


class MessagesPage(Page, frozen=True):
    template: ClassVar[str] = "messages.html"
    area: ClassVar[str] = "messages"

    filters: Mapping[str, str]
    messages: Sequence[FoundCommunication]
    sorting: Sorting
    after: str
    next_cursor: str | None


class RepliesPage(Page, frozen=True):
    """Replies to e-mails that are not marked as read."""

    template: ClassVar[str] = "replies.html"
    area: ClassVar[str] = "messages"

    replies: Sequence[UnreadReply]
    max_listed: int


class UnknownMessagePage(Page, frozen=True):
    """The form for a message whose delivery status is unknown."""

    template: ClassVar[str] = "settle.html"
    area: ClassVar[str] = "messages"

    message: FoundCommunication


@at_merchant
async def get_messages_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    state, channel, after = (
        request.get_parameter("state"),
        request.get_parameter("channel"),
        request.get_parameter("after"),
    )
    wanted = CommunicationFilter(
        state=next((each for each in get_args(CommunicationState) if each == state), None),
        channel=next((each for each in CHANNELS if each == channel), None),
    )
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_communications(
                work,
                limit=PAGE_SIZE,
                cursor=cursor,
                wanted=wanted,
                oldest_first=not sorting.is_descending,
            ),
            after,
        )
    given = {"state": wanted.state or "", "channel": wanted.channel or ""}
    filters = {name: str(value) for name, value in given.items() if value}
    page = MessagesPage(
        filters, found.items, sorting=sorting, after=after, next_cursor=found.next_cursor
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_replies_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        replies = await list_unread_replies(work)
    return site.render_merchant_page(request, access, RepliesPage(replies, MAX_LISTED_REPLIES))


@at_merchant
async def get_unknown_message_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    message_id = parse_path_id(request, "message_id")
    if not access.may(Right.CONTACT_SETTINGS):
        raise NotFound("There is no such page.")
    async with site.open_work(access) as work:
        work.require(Right.READ_CLAIMS)
        found = await load_found_communications(work.tx, work.merchant_id, [message_id])
    message = found.get(message_id)
    if message is None or message.state != "UNKNOWN":
        return site.redirect(request, access, "messages", state="UNKNOWN")
    return site.render_merchant_page(request, access, UnknownMessagePage(message))


@takes_form_at_merchant
async def submit_resolution(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Record the delivery provider's result. If another user was faster, the list says so."""
    outcome = fields["outcome"]
    if outcome not in ("sent", "not_sent"):
        return await get_unknown_message_page(site, request)
    try:
        async with site.open_work(access) as work:
            message_id = parse_path_id(request, "message_id")
            await resolve_unknown_contact(work, message_id, was_sent=outcome == "sent")
    except InvalidState:
        return site.redirect(request, access, "messages", state="UNKNOWN", done="settled_before")
    return site.redirect(request, access, "messages", state="UNKNOWN", done="settled")


PAGES: RoutedPages = {
    "messages": {"GET": get_messages_page},
    "replies": {"GET": get_replies_page},
    "settle": {"GET": get_unknown_message_page, "POST": submit_resolution},
}
