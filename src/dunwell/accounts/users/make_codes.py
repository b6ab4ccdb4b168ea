"""Makes ten recovery codes anew, and shows them in the session that made them."""

from collections.abc import Sequence
from uuid import UUID

from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.accounts.users.recovery_codes import SHOWN_FOR, derive_codes, hash_code, render_code
from dunwell.accounts.users.session_rules import hash_secret
from dunwell.accounts.users.store_factors import load_code_hashes, replace_codes
from dunwell.accounts.users.store_sessions import find_shown_codes, save_shown_codes


async def make_codes(work: PeopleWork, user_id: UUID, session_secret: str) -> None:
    """Those before are good no more."""
    session_hash, codes_id = hash_secret(session_secret), work.ids.new(work.now)
    assert session_hash is not None
    codes = derive_codes(work.keys, session_secret, codes_id)
    hashes = [found for code in codes if (found := hash_code(code)) is not None]
    await replace_codes(work.tx, user_id, hashes)
    await save_shown_codes(work.tx, session_hash, codes_id, work.now + SHOWN_FOR)
    await save_people_audit(work, "recovery_codes.make", user_id)


async def find_made_codes(work: PeopleWork, user_id: UUID, session_secret: str) -> Sequence[str]:
    """As they are printed; none: they were put away, or were not made in this session lately."""
    session_hash = hash_secret(session_secret)
    assert session_hash is not None
    codes_id = await find_shown_codes(work.tx, session_hash, work.now)
    if codes_id is None:
        return []
    stored = set(await load_code_hashes(work.tx, user_id))
    for version in work.keys.versions:
        codes = derive_codes(work.keys, session_secret, codes_id, version)
        if stored == {hash_code(code) for code in codes}:
            return [render_code(code) for code in codes]
    return []


async def put_codes_away(work: PeopleWork, session_secret: str) -> None:
    """They were printed or written down; nobody sees them again."""
    session_hash = hash_secret(session_secret)
    assert session_hash is not None
    await save_shown_codes(work.tx, session_hash, None, work.now)
