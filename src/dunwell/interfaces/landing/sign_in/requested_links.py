"""Sending a new link to a visitor who enters a claim's reference and the address on file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import phonenumbers
import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.notices.notice import HOUR, Addressee, NoticeChannel, NoticeKind
from dunwell.contact.notices.occasions.facts import LinkFacts
from dunwell.contact.notices.send_notice import send_notice
from dunwell.contact.notices.store import has_recent_notice
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked
from dunwell.interfaces.landing.sign_in.store import (
    LinkRequest,
    delete_link_request,
    delete_proof_attempts,
    insert_link_request,
    list_claims_by_reference,
    list_link_requests,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import find_request_lock, record_link_request
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources


def match_contact(typed: str, addresses: Mapping[NoticeChannel, str]) -> NoticeChannel | None:
    """Find the channel whose address on file was entered. Case does not matter, and a phone number
    may be written with or without its country code."""
    email, number = addresses.get("EMAIL"), addresses.get("SMS")
    if email is not None and email.casefold() == typed.strip().casefold():
        return "EMAIL"
    if number is not None and _is_same_number(typed, number):
        return "SMS"
    return None


def _is_same_number(typed: str, on_file: str) -> bool:
    try:
        known = phonenumbers.parse(on_file)
        region = phonenumbers.region_code_for_number(known)
        return bool(phonenumbers.parse(typed, region) == known)
    except phonenumbers.NumberParseException:
        return False


POLL_SECONDS = 1.0
# Merchants choose references independently, so several may have a claim with the same one.
_MAX_LINKS = 5
_BATCH_SIZE = 100
# An address of a claim gets at most one link within this time, however often one is requested.
MIN_INTERVAL = timedelta(minutes=5)
_ACTOR = build_debtor_actor("new-link")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _MatchingClaim:
    """A claim that matches the request, with the address to send the link to."""

    merchant: Merchant
    addressee: Addressee


async def request_link(
    tx: Connection, link_request_id: UUID, request: LinkRequest, visitor: bytes
) -> Locked | None:
    """Save and count the request, or return the lock of the visitor. `visitor` comes from
    `digest_visitor`."""
    locked = await find_request_lock(tx, visitor, request.requested_at)
    if locked is not None:
        return locked
    await record_link_request(tx, visitor, request.requested_at)
    await insert_link_request(tx, link_request_id, request)
    return None


async def send_requested_links(resources: Resources, writer: NoticeWriter) -> int:
    """Send the requested links. Return the number of requests that were handled."""
    async with resources.database.connection() as connection:
        waiting = await list_link_requests(connection, _BATCH_SIZE)
    for link_request_id in waiting:
        try:
            await _handle_request(resources, writer, link_request_id)
        except Unavailable:
            raise
        except Exception as error:
            # A request that fails must not be tried forever.
            log.exception("cannot send requested link", error=type(error).__name__)
            async with resources.database.transaction() as tx:
                await delete_link_request(tx, link_request_id)
    return len(waiting)


async def _handle_request(
    resources: Resources, writer: NoticeWriter, link_request_id: UUID
) -> None:
    async with resources.database.transaction() as tx:
        request = await delete_link_request(tx, link_request_id)
        # After an hour the visitor no longer expects the link.
        if request is None or request.requested_at + HOUR <= resources.clock.now():
            return
        found = await _list_matching_claims(tx, request)
        # Lock all claims before the first notice is sent, because sending locks the address, and
        # locks are taken in the order claim, address.
        for each in found:
            await lock_claim(tx, each.merchant.merchant_id, each.addressee.claim_id)
        for each in found:
            await _send_link(tx, resources, writer, each)


async def _list_matching_claims(tx: Connection, request: LinkRequest) -> list[_MatchingClaim]:
    """List at most `_MAX_LINKS` matching claims of all merchants."""
    found: list[_MatchingClaim] = []
    for claim in await list_claims_by_reference(tx, request.reference):
        channel = match_contact(request.contact, claim.addresses)
        if channel is None:
            continue
        merchant = await load_merchant(tx, claim.merchant_id)
        assert merchant is not None
        language = claim.language or merchant.configuration.language
        address = claim.addresses[channel]
        found.append(
            _MatchingClaim(merchant, Addressee(claim.claim_id, channel, address, language))
        )
        if len(found) == _MAX_LINKS:
            break
    return found


async def _send_link(
    tx: Connection, resources: Resources, writer: NoticeWriter, found: _MatchingClaim
) -> None:
    """Send the link, unless one was sent within MIN_INTERVAL, the limit of the claim is reached, or
    the merchant does not use the channel. The claim is locked, so a second worker sees the notice
    of the first."""
    since = resources.clock.now() - MIN_INTERVAL
    if await has_recent_notice(
        tx, found.merchant.merchant_id, found.addressee, kind=NoticeKind.LINK, since=since
    ):
        return
    notice = writer.write(found.merchant, found.addressee, LinkFacts())
    work = Work.open(resources, tx, found.merchant, _ACTOR)
    if isinstance(await send_notice(work, resources.keys, notice), UUID):
        # The link goes to the address on file, so earlier wrong attempts no longer count.
        await delete_proof_attempts(tx, found.merchant.merchant_id, found.addressee.claim_id)
