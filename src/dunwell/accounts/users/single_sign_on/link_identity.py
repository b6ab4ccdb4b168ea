"""Says of a user of Dunwell's own by whom a provider knows them: from then on they come by single
sign-on alone. An e-mail address never says so; somebody does who may manage people.
"""

from uuid import UUID

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.factors.store import remove_all_factors
from dunwell.accounts.users.invite_user import require_user
from dunwell.accounts.users.sessions.sessions import end_all_sessions
from dunwell.accounts.users.sign_in.store import remove_entries_of, remove_invitations
from dunwell.accounts.users.single_sign_on.store import assign_identity
from dunwell.accounts.users.store import remove_password
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.errors import Fault, InvalidState, ValidationError


async def link_identity(work: UserWork, user_id: UUID, provider: str, subject: str) -> None:
    """Password, second factors, links and sessions end at once; what they are stays until they
    sign in. Raises InsufficientScope, NotFound, ValidationError, InvalidState."""
    work.need(Right.PEOPLE)
    user = await require_user(work, user_id)
    sign_in = (await load_installation(work.tx)).installation.sign_in
    known = None if sign_in is None else sign_in.find(provider)
    if known is None:
        message = f"The installation file names no provider {provider}."
        raise ValidationError([Fault("/provider", message, "INVALID")])
    if user.is_break_glass:
        raise InvalidState(
            "A break-glass admin signs in without single sign-on. Take that back first.",
            state="BREAK_GLASS",
        )
    if user.provider is not None or not await assign_identity(
        work.tx, user_id, who=(known.issuer, subject), provider=provider, now=work.now
    ):
        raise InvalidState(
            "One of the two is linked already. Look at: dunwell user list", state="LINKED"
        )
    await remove_password(work.tx, user_id)
    await remove_all_factors(work.tx, user_id)
    await remove_entries_of(work.tx, user_id)
    await remove_invitations(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    after = {"provider": provider, "sessionsEnded": ended}
    await save_people_audit(work, "user.link", user_id, after=after)
