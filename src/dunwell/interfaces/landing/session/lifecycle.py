"""Open a claim's page for an hour, extend the session, raise its level, and end it (CONTRACT 10).

Only a POST opens a session, so that link scanners and previews open none. Opening raises
DETAILS_ACCESSED for the merchant. Each change of level and each extension replaces the token; the
previous one stays valid for ten seconds, so that a double click or a second tab does not lose the
session.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.identities import digest_address, render_postal_address
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.events.payloads import details_accessed
from dunwell.interfaces.landing.session.facts import OnFile
from dunwell.interfaces.landing.session.session import (
    ENDED_SESSION_RETENTION,
    MAX_TOTAL_LIFETIME,
    SESSION_LIFETIME,
    Level,
    Session,
    render_value,
)
from dunwell.interfaces.landing.session.store import (
    find_successor,
    insert_token,
    load_on_file,
    move_drafts,
    save_raised_level,
    save_session,
    save_session_end,
)
from dunwell.platform.crypto import KeyRing, sha256


@dataclass(frozen=True, slots=True)
class ClaimSessionOpening:
    """The claim to open, and the new session. `session_id` is the sessionId of the event.
    `continues` is an earlier session: what was proven in it counts as proven in the new one, and
    its maximum lifetime also limits the new one."""

    claim_id: int
    communication_id: UUID | None
    channel: Channel | None
    level: Level
    session_id: UUID
    randomness: bytes
    continues: Session | None = None
    # The hash of the token that the new one replaces, or the key that identifies a repeated
    # request.
    previous_hash: bytes | None = None
    # Digests of the address whose code has just been entered.
    proven_digests: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class OpenedClaimSession:
    """An open session. `cookie_value` is not stored anywhere."""

    session: Session
    cookie_value: str


async def open_session(
    work: Work, keys: KeyRing, opening: ClaimSessionOpening
) -> OpenedClaimSession:
    """Open a session and record DETAILS_ACCESSED. Raises NotFound if the claim no longer exists."""
    work.require(Right.READ_CLAIMS)
    value = render_value(opening.randomness)
    before = opening.continues
    first_opened_at = before.first_opened_at if before else work.real_now
    session = Session(
        merchant_id=work.merchant_id,
        session_hash=sha256(value.encode()),
        session_id=opening.session_id,
        claim_id=opening.claim_id,
        communication_id=opening.communication_id,
        channel=opening.channel,
        level=opening.level,
        expires_at=min(work.real_now + SESSION_LIFETIME, first_opened_at + MAX_TOTAL_LIFETIME),
        ended_at=None,
        opened_at=work.real_now,
        first_opened_at=first_opened_at,
        proven_digests=[*opening.proven_digests, *(before.proven_digests if before else ())],
        previous_hash=opening.previous_hash,
    )
    # Publish the event first, because this locks the claim.
    await publish_event(
        work,
        session.claim_id,
        lambda head: details_accessed(head, session.session_id, session.channel),
    )
    on_file = await load_on_file(work.tx, work.merchant_id, session.claim_id)
    addresses = list_addresses(on_file, work.merchant.configuration.channels)
    digests = digest_addresses(keys, work.merchant_id, addresses)
    known = [digest for each in digests.values() for digest in each]
    await save_session(work.tx, session, known)
    await save_audit(work, "session.open", f"claim:{session.claim_id}", level=session.level)
    return OpenedClaimSession(session, value)


async def reissue_token(
    work: Work, previous_hash: bytes, randomness: bytes, level: Level = Level.LINK
) -> OpenedClaimSession | None:
    """Give a session another token if this request opened it within the last ten seconds.

    The browser may have dropped the response to the first of two clicks, so both clicks get a valid
    token. Return None if this request opened no session that is live and reaches `level`.
    """
    work.require(Right.READ_CLAIMS)
    session = await find_successor(work.tx, previous_hash, work.real_now)
    if session is None or not session.level.reaches(level):
        return None
    value = render_value(randomness)
    await insert_token(work.tx, session, sha256(value.encode()))
    return OpenedClaimSession(session, value)


async def raise_level(
    work: Work, session: Session, level: Level, *, randomness: bytes, proven: Sequence[bytes] = ()
) -> str | None:
    """Raise the level. Return the new cookie value, or None if the session has ended. If the same
    form has raised it just before, return another cookie value. `proven` are digests of the
    address to which the code was sent."""
    work.require(Right.READ_CLAIMS)
    value = render_value(randomness)
    if await save_raised_level(
        work.tx, session, sha256(value.encode()), level=level, now=work.real_now,
        proven_digests=proven,
    ):  # fmt: skip
        await save_audit(work, "session.raise", f"claim:{session.claim_id}", level=level)
        return value
    return await reissue_raised_token(work, session.session_hash, level, randomness=randomness)


async def reissue_raised_token(
    work: Work, previous_hash: bytes, level: Level, *, randomness: bytes
) -> str | None:
    """Return another cookie value of the session that was raised from this token to `level`."""
    work.require(Right.READ_CLAIMS)
    repeated = await reissue_token(work, previous_hash, randomness, level)
    return repeated.cookie_value if repeated else None


async def end_session(work: Work, session: Session) -> bool:
    """End the session with all its tokens. Return False if it has ended already."""
    work.require(Right.READ_CLAIMS)
    if not await save_session_end(work.tx, work.merchant_id, session.session_id, work.real_now):
        return False
    await save_audit(work, "session.end", f"claim:{session.claim_id}")
    return True


async def extend_session(
    work: Work, keys: KeyRing, session: Session, session_id: UUID, *, randomness: bytes
) -> str | None:
    """Replace the session by a new one with the id `session_id`, which takes over the drafts, and
    return the new cookie value. If the same form has extended the session just before, return
    another cookie value of the new session. Return None if the session has ended otherwise."""
    work.require(Right.READ_CLAIMS)
    if not await end_session(work, session):
        repeated = await reissue_token(work, session.session_hash, randomness)
        return repeated.cookie_value if repeated else None
    opening = ClaimSessionOpening(
        claim_id=session.claim_id,
        communication_id=session.communication_id,
        channel=session.channel,
        level=session.level,
        session_id=session_id,
        randomness=randomness,
        continues=session,
        previous_hash=session.session_hash,
    )
    opened = await open_session(work, keys, opening)
    await move_drafts(
        work.tx, session, session_id, work.real_now + SESSION_LIFETIME + ENDED_SESSION_RETENTION
    )
    return opened.cookie_value


def list_addresses(on_file: OnFile, configured: Collection[Channel]) -> dict[Channel, str]:
    """List the debtor's addresses by channel, for the merchant's channels. A postal address is one
    line, as the suppression list has it."""
    postal, postal_line = on_file.postal_address or {}, None
    if postal.get("street") and postal.get("city"):
        postal_line = render_postal_address(postal)
    given = {"EMAIL": on_file.email, "SMS": on_file.mobile_number, "LETTER": postal_line}
    return {each: address for each in CHANNELS if each in configured and (address := given[each])}


def digest_addresses(
    keys: KeyRing, merchant_id: int, addresses: Mapping[Channel, str]
) -> dict[Channel, tuple[bytes, ...]]:
    """Compute the digests of the addresses, as the suppression list stores them. `addresses` comes
    from `list_addresses`."""
    return {
        channel: digest_address(keys, merchant_id, channel, address)
        for channel, address in addresses.items()
    }
