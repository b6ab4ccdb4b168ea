"""Delivery providers, print batches, and unmatched reports and replies, for the operator."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.users.user import SignedInUser
from dunwell.contact.sending.batches.after_restore.unconfirmed_letters import (
    resolve_uncertain_letters,
)
from dunwell.contact.sending.store import UnmatchedEntry, UnmatchedKind
from dunwell.contact.sending.unmatched import list_unmatched, mark_unmatched_as_seen
from dunwell.interfaces.portal.web.access import PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.operations.alerts.alert_emails import describe_alert, get_alert_page
from dunwell.operations.alerts.check_alerts import AlertOverview, load_alert_overview
from dunwell.operations.dashboards import print_batches
from dunwell.operations.dashboards.delivery_providers import (
    MAX_SENT,
    MAX_WAITING,
    ProviderOverview,
    load_provider_overview,
)
from dunwell.operations.dashboards.print_batches import (
    BatchesView,
    BatchView,
    DoubtfulLettersView,
    get_batch,
    list_batches,
    list_doubtful_letters,
)
from dunwell.platform.errors import NotFound
from dunwell.platform.text.translation import find_staff_language


class AlertView(msgspec.Struct, frozen=True, gc=False):
    """An alert in the user's language, with the URL of the page on which to resolve it."""

    message: str
    address: str
    began_at: datetime


class DeliveryProvidersPage(Page, frozen=True):
    template: ClassVar[str] = "delivery_providers.html"

    view: ProviderOverview
    alerts: Sequence[AlertView]
    # True if alerts are not being checked.
    is_stale: bool
    last_checked_at: datetime | None
    # True if the installation file names addresses that receive alert e-mails.
    has_recipients: bool
    # The numbers up to which messages are counted.
    max_waiting: int
    max_sent: int


class BatchesPage(Page, frozen=True):
    """The print batches of the delivery provider `provider`, or of all for ""."""

    template: ClassVar[str] = "letter_batches.html"

    view: BatchesView
    provider: str
    after: str
    # The number up to which letters are counted.
    max_waiting: int


class BatchPage(Page, frozen=True):
    template: ClassVar[str] = "letter_batch.html"

    view: BatchView
    only_failed: bool
    after: str


class DoubtfulLettersPage(Page, frozen=True):
    """Letters whose release is unknown after a restore. `fault` is NOTHING (no letter selected) or
    OUTCOME (no outcome selected)."""

    template: ClassVar[str] = "doubtful_letters.html"

    view: DoubtfulLettersView
    provider: str
    after: str
    fault: str = ""
    selected: frozenset[str] = frozenset()
    outcome: str = ""


_RELEASED_BY_OUTCOME = {"released": True, "not_released": False}


@signed_in
async def get_delivery_providers_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    resources = site.resources
    async with resources.database.transaction() as tx:
        view = await load_provider_overview(tx, person.actor, resources.clock.now())
        alerts = await load_alert_overview(tx, person.actor, resources.clock.now())
    context = site.build_context(request)
    page = DeliveryProvidersPage(
        view=view,
        alerts=_build_alert_views(alerts, context.language),
        is_stale=alerts.is_stale,
        last_checked_at=alerts.last_checked_at,
        has_recipients=alerts.has_recipients,
        max_waiting=MAX_WAITING,
        max_sent=MAX_SENT,
    )
    return site.render_page(context, page)


def _build_alert_views(view: AlertOverview, language: str) -> Sequence[AlertView]:
    return [
        AlertView(
            describe_alert(each, find_staff_language(language)),
            get_alert_page(each),
            each.began_at,
        )
        for each in view.active
    ]


@signed_in
async def get_batches_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    provider, after = request.get_parameter("provider"), request.get_parameter("after")
    async with site.resources.database.transaction() as tx:
        view = await load_page(
            lambda cursor: list_batches(
                tx, person.actor, limit=PAGE_SIZE, provider=provider or None, cursor=cursor
            ),
            after,
        )
    page = BatchesPage(view, provider, after, print_batches.MAX_WAITING)
    return site.render_page(site.build_context(request), page)


@signed_in
async def get_batch_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    batch_id, after = parse_path_id(request, "batch_id"), request.get_parameter("after")
    only_failed = request.get_parameter("show") == "failed"
    async with site.resources.database.transaction() as tx:
        view = await load_page(
            lambda cursor: get_batch(
                tx, person.actor, batch_id, limit=PAGE_SIZE, cursor=cursor, only_failed=only_failed
            ),
            after,
        )
    return site.render_page(site.build_context(request), BatchPage(view, only_failed, after))


@signed_in
async def get_doubtful_letters_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    return await _render_doubtful_letters_page(
        site, request, person=person, typed=FormFields({}), fault=""
    )


@takes_form
async def resolve_letters(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Record whether the selected letters were released. If another user recorded an outcome first,
    it stays, and the page says so."""
    keys = [key for key in map(_parse_letter_key, fields.all("letter")) if key is not None]
    was_released = _RELEASED_BY_OUTCOME.get(fields["outcome"])
    if not keys or was_released is None:
        fault = "OUTCOME" if keys else "NOTHING"
        return await _render_doubtful_letters_page(
            site, request, person=person, typed=fields, fault=fault
        )
    provider = request.path_params["provider"]
    async with site.resources.database.transaction() as tx:
        resolved = await resolve_uncertain_letters(
            tx,
            person.actor,
            site.resources,
            provider=provider,
            keys=keys,
            was_released=was_released,
        )
    done = (
        "settled" if resolved == len(keys) else "settled_partly" if resolved else "settled_before"
    )
    return site.redirect(request, None, "doubtful_letters", provider=provider, done=done)


async def _render_doubtful_letters_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser, typed: FormFields, fault: str
) -> Response:
    provider, after = request.path_params["provider"], request.get_parameter("after")
    async with site.resources.database.transaction() as tx:
        view = await load_page(
            lambda cursor: list_doubtful_letters(
                tx, person.actor, provider, limit=PAGE_SIZE, cursor=cursor
            ),
            after,
        )
    page = DoubtfulLettersPage(
        view,
        provider,
        after,
        fault,
        selected=frozenset(typed.all("letter")),
        outcome=typed["outcome"],
    )
    return site.render_page(site.build_context(request), page, 422 if fault else 200)


def _parse_letter_key(text: str) -> tuple[int, UUID] | None:
    """Parse the value of a checkbox: the ids of the merchant and of the message, separated by a
    dot. Return None if it is not valid."""
    merchant, _, message = text.partition(".")
    if not (merchant.isascii() and merchant.isdecimal() and len(merchant) <= 9):
        return None
    try:
        return int(merchant), UUID(message)
    except ValueError:
        return None


class UnmatchedMessagesPage(Page, frozen=True):
    """The reports or SMS replies that match no message. `result_code` is the result of marking one
    as seen, or ""."""

    template: ClassVar[str] = "unmatched_messages.html"

    kind: UnmatchedKind
    found: Sequence[UnmatchedEntry]
    next_cursor: str | None
    after: str
    result_code: str


@signed_in
async def get_unmatched_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    kind, after = _parse_unmatched_kind(request.get_parameter("of")), request.get_parameter("after")
    async with site.resources.database.transaction() as tx:
        view = await load_page(
            lambda cursor: list_unmatched(tx, person.actor, kind, limit=PAGE_SIZE, cursor=cursor),
            after,
        )
    page = UnmatchedMessagesPage(
        kind, view.items, view.next_cursor, after, result_code=request.get_parameter("looked")
    )
    return site.render_page(site.build_context(request), page)


@takes_form
async def mark_as_seen(
    site: PortalSite, request: PortalRequest, person: SignedInUser, fields: FormFields
) -> Response:
    """Mark a message as seen. If another user did so first, the page says so."""
    kind, resources = _parse_unmatched_kind(fields["of"]), site.resources
    async with resources.database.transaction() as tx:
        is_first = await mark_unmatched_as_seen(
            tx, person.actor, kind, _parse_message_id(fields["key"]),
            real_now=resources.clock.now(), ids=resources.ids,
        )  # fmt: skip
    looked = "now" if is_first else "before"
    return site.redirect(
        request, None, "unmatched_messages", of=kind, after=fields["after"], looked=looked
    )


def _parse_unmatched_kind(text: str) -> UnmatchedKind:
    return "reports" if text == "reports" else "sms"


def _parse_message_id(text: str) -> UUID:
    """Parse a message's id from the form. Raises NotFound if it is not an id."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such message.") from None


PAGES: RoutedPages = {
    "delivery_providers": {"GET": get_delivery_providers_page},
    "letter_batches": {"GET": get_batches_page},
    "letter_batch": {"GET": get_batch_page},
    "doubtful_letters": {"GET": get_doubtful_letters_page, "POST": resolve_letters},
    "unmatched_messages": {"GET": get_unmatched_page, "POST": mark_as_seen},
}
