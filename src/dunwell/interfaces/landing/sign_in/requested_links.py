"""A new link on request, for a visitor who names a claim's reference and the address on file."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import phonenumbers
import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import debtor_actor
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
    delete_fact_attempts,
    delete_link_request,
    insert_link_request,
    list_claims_by_reference,
    list_link_requests,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import find_request_lock, record_link_request
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources


def match_contact(typed: str, addresses: Mapping[NoticeChannel, str]) -> NoticeChannel | None:
    """Which of the addresses on file was typed. Case does not count, nor how a number is written:
    with its country's code, or as it is dialled there."""
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
# A reference is one merchant's, but two may have thought of the same one.
_MOST_SENT = 5
_SET_SIZE = 100
# One link of a claim is enough, whoever asks again: a second click, somebody impatient.
MIN_INTERVAL = timedelta(minutes=5)
_ASKER = debtor_actor("new-link")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Found:
    """Whose claim has that reference and that address on file."""

    merchant: Merchant
    addressee: Addressee


async def request_link(
    tx: Connection, link_request_id: UUID, asked: LinkRequest, visitor: bytes
) -> Locked | None:
    """None: it is taken down and counted. `visitor`: `digest_visitor`'s."""
    locked = await find_request_lock(tx, visitor, asked.requested_at)
    if locked is not None:
        return locked
    await record_link_request(tx, visitor, asked.requested_at)
    await insert_link_request(tx, link_request_id, asked)
    return None


async def send_requested_links(resources: Resources, writer: NoticeWriter) -> int:
    """How many were looked at; 0 when nothing was left."""
    async with resources.database.connection() as connection:
        waiting = await list_link_requests(connection, _SET_SIZE)
    for link_request_id in waiting:
        try:
            await _look_at(resources, writer, link_request_id)
        except Unavailable:
            raise
        except Exception as error:
            # One that cannot be sent must not come again and again.
            log.exception("cannot send an asked link", error=type(error).__name__)
            async with resources.database.transaction() as tx:
                await delete_link_request(tx, link_request_id)
    return len(waiting)


async def _look_at(resources: Resources, writer: NoticeWriter, link_request_id: UUID) -> None:
    async with resources.database.transaction() as tx:
        asked = await delete_link_request(tx, link_request_id)
        # Who has waited for an hour has given up.
        if asked is None or asked.requested_at + HOUR <= resources.clock.now():
            return
        found = await _find(tx, asked)
        # All of them before the first address, as whoever sends there has the claim first.
        for each in found:
            await lock_claim(tx, each.merchant.merchant_id, each.addressee.claim_id)
        for each in found:
            await _send(tx, resources, writer, each)


async def _find(tx: Connection, asked: LinkRequest) -> list[_Found]:
    """Of all merchants, the first few."""
    found: list[_Found] = []
    for claim in await list_claims_by_reference(tx, asked.reference):
        channel = match_contact(asked.contact, claim.addresses)
        if channel is None:
            continue
        merchant = await load_merchant(tx, claim.merchant_id)
        assert merchant is not None
        language = claim.language or merchant.configuration.language
        address = claim.addresses[channel]
        found.append(_Found(merchant, Addressee(claim.claim_id, channel, address, language)))
        if len(found) == _MOST_SENT:
            break
    return found


async def _send(tx: Connection, resources: Resources, writer: NoticeWriter, found: _Found) -> None:
    """Unless one is on its way, there were enough for this claim, or the merchant has no such
    channel. The claim is locked: of two workers the second sees the first one's."""
    since = resources.clock.now() - MIN_INTERVAL
    if await has_recent_notice(
        tx, found.merchant.merchant_id, found.addressee, kind=NoticeKind.LINK, since=since
    ):
        return
    notice = writer.write(found.merchant, found.addressee, LinkFacts())
    work = Work.open(resources, tx, found.merchant, _ASKER)
    if isinstance(await send_notice(work, resources.keys, notice), UUID):
        # To the address on file: what somebody tried before counts no more.
        await delete_fact_attempts(tx, found.merchant.merchant_id, found.addressee.claim_id)
