"""Makes an admin of Dunwell's own a break-glass admin, or takes that back."""

from uuid import UUID

from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.invite_user import require_user
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.accounts.users.store import save_break_glass
from dunwell.platform.errors import InvalidState


async def set_break_glass(work: PeopleWork, user_id: UUID, *, is_on: bool) -> None:
    """Raises InsufficientScope, NotFound, InvalidState."""
    work.need(Right.PEOPLE)
    user = await require_user(work, user_id)
    if is_on and user.provider is not None:
        raise InvalidState(
            "This user comes by single sign-on. Take an admin who does not, or create one.",
            state="LINKED",
        )
    if is_on and user.place.everywhere is not Role.ADMIN:
        raise InvalidState("Only an admin can be a break-glass admin.", state="NO_ADMIN")
    await save_break_glass(work.tx, user_id, is_on=is_on)
    await save_people_audit(
        work, "user.break_glass", user_id,
        before={"isBreakGlass": user.is_break_glass}, after={"isBreakGlass": is_on},
    )  # fmt: skip
