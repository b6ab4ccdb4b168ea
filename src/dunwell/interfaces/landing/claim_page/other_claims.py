"""The debtor's other open claims of the same merchant. These claims are shown to a session that has
entered a code which was sent to an address, if that address is also on file for the other claims
(CONTRACT 17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.identities import digest_address, normalize_address
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.lifecycle import (
    ClaimSessionOpening,
    OpenedClaimSession,
    open_session,
    reissue_token,
)
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.sql import compose, load_statement, nest_rows

MAX_OTHER_CLAIMS = 50
_PURPOSE = "landing-other-claim"
_compose = partial(load_statement, __file__, "other_claims.sql", most=str(MAX_OTHER_CLAIMS))
# Uses the index debtors_email.
_BY_EMAIL = _compose(column="email", indexed="lower(other.email) = lower($4)")
# Uses the index debtors_mobile_number.
_BY_NUMBER = _compose(column="mobile_number", indexed="other.mobile_number = $4")


class OtherClaimOfDebtor(msgspec.Struct, frozen=True, gc=False):
    claim_id: int
    reference_number: str
    currency: str
    # The address on file that the claim was found by.
    address: str
    outstanding_cents: int


@dataclass(frozen=True, slots=True)
class OtherClaimOpening:
    """The claim to open, with the id and the random bytes of its new session."""

    claim_id: int
    session_id: UUID
    randomness: bytes


OTHER_CLAIMS: Detail[dict[NoticeChannel, list[OtherClaimOfDebtor]]] = Detail(
    compose(
        "json_build_object('EMAIL', {email}, 'SMS', {number})",
        email=nest_rows(_BY_EMAIL, *KEY, "s.level", "d.email"),
        number=nest_rows(_BY_NUMBER, *KEY, "s.level", "d.mobile_number"),
    ),
    dict[NoticeChannel, list[OtherClaimOfDebtor]],
)


def list_other_claims(keys: KeyRing, opened: OpenedClaim) -> Sequence[OtherClaimOfDebtor]:
    """List the other claims at the addresses whose code this session has entered. `opened` must be
    loaded with OTHER_CLAIMS."""
    session = opened.session
    if not session.level.reaches(Level.CODE) or not session.proven_digests:
        return ()
    found: dict[int, OtherClaimOfDebtor] = {}
    for channel, claims in OTHER_CLAIMS.decode(opened.detail).items():
        address = opened.facts.on_file.find(channel)
        if address is None or not _is_proven(keys, session, channel, address):
            continue
        wanted = normalize_address(channel, address)
        for each in claims:
            if normalize_address(channel, each.address) == wanted:
                found[each.claim_id] = each
    return sorted(found.values(), key=lambda each: each.claim_id)


async def open_other_claim(
    work: Work, keys: KeyRing, session: Session, other: OtherClaimOpening
) -> OpenedClaimSession:
    """Open the other claim at this session's level. The new session cannot be extended for longer
    than this one. A form that is sent twice within ten seconds opens one session; see
    `reissue_token`."""
    work.require(Right.READ_CLAIMS)
    await lock_claim(work.tx, work.merchant_id, other.claim_id)
    origin = keys.digest(_PURPOSE, session.session_id.bytes + other.claim_id.to_bytes(8))
    repeated = await reissue_token(work, origin, other.randomness)
    if repeated is not None:
        return repeated
    opening = ClaimSessionOpening(
        claim_id=other.claim_id,
        communication_id=None,
        channel=None,
        level=session.level,
        session_id=other.session_id,
        randomness=other.randomness,
        continues=session,
        previous_hash=origin,
    )
    return await open_session(work, keys, opening)


def _is_proven(keys: KeyRing, session: Session, channel: NoticeChannel, address: str) -> bool:
    digests = digest_address(keys, session.merchant_id, channel, address)
    return any(digest in session.proven_digests for digest in digests)
