"""The assignee filter of lists, and the choice of assignees."""

from collections.abc import Sequence
from typing import Literal, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import ANY_ASSIGNEE, Assignee, AssigneeFilter
from dunwell.accounts.users.store import list_colleagues
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.web.form_fields import FormFields

WhoseAsked: TypeAlias = Literal["", "mine", "nobodys"]
_ASKED: tuple[WhoseAsked, ...] = ("mine", "nobodys")


def read_whose(visit: PortalRequest, access: MerchantAccess) -> tuple[WhoseAsked, AssigneeFilter]:
    """Return the assignee filter as the address has it, and what it means."""
    given = visit.ask("whose")
    asked: WhoseAsked = next((each for each in _ASKED if each == given), "")
    if asked == "mine":
        return asked, AssigneeFilter(user_id=access.person.user_id)
    return asked, AssigneeFilter(is_unassigned=True) if asked else ANY_ASSIGNEE


async def list_choices(work: Work, access: MerchantAccess) -> Sequence[Assignee]:
    """List the users whom this user can assign. Only users who may respond can assign others. A
    merchant's own staff sees its own colleagues only."""
    work.require(Right.READ_CLAIMS)
    if not access.may(Right.ANSWER):
        return ()
    return await list_colleagues(work.tx, work.merchant_id, of_all=not access.is_outsider)


def read_assignee(fields: FormFields, name: str) -> UUID | None:
    """Return the id of the chosen user, or None for unassigned."""
    try:
        return UUID(fields[name])
    except ValueError:
        return None
