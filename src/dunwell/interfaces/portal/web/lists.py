"""What the pages of lists share: loading a page, days, sorting, and the assignee filter."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import ANY_ASSIGNEE, Assignee, AssigneeFilter
from dunwell.accounts.users.store import list_colleagues
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import ValidationError

PAGE_SIZE = 50
_Found = TypeVar("_Found")


async def load_page(load: Callable[[str | None], Awaitable[_Found]], after: str) -> _Found:
    """Return the page of the cursor, or the first page if the cursor is not valid."""
    try:
        return await load(after or None)
    except ValidationError:
        return await load(None)


def parse_day(text: str) -> date | None:
    """Parse a day. Return None if it is not a date, or so long ago or so far in the future that it
    may not be representable in another time zone."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1900 < day.year < 9000 else None


def compute_day_span(
    merchant: Merchant, on: date | None
) -> tuple[datetime | None, datetime | None]:
    """Return, as UTC, the start of a day and of the next day in the merchant's time zone. Without a
    day, both are None."""
    if on is None:
        return None, None
    zone = ZoneInfo(merchant.configuration.timezone)
    since = datetime.combine(on, time(), zone).astimezone(UTC)
    return since, datetime.combine(on + timedelta(days=1), time(), zone).astimezone(UTC)


def build_job_filter(wanted: object) -> dict[str, object]:
    """Return the filters that are set in a dataclass, in the form in which a job stores them."""
    names = wanted.__dataclass_fields__  # type: ignore[attr-defined]
    given = {name: getattr(wanted, name) for name in names}
    return {
        name: value if isinstance(value, int) else str(value)
        for name, value in given.items()
        if value not in (None, ())
    }


class Sorting(msgspec.Struct, frozen=True, gc=False):
    """The sorting of a list. `default` is the sorting of a URL that names none."""

    column: str
    is_descending: bool
    default: str

    @property
    def parameter(self) -> str:
        """Return the sorting as the URL names it, "" for the default."""
        given = f"{'-' if self.is_descending else ''}{self.column}"
        return "" if given == self.default else given

    def reverse(self, column: str) -> str:
        """Return the sorting to which the heading of a column links. A second click reverses the
        order."""
        is_descending = column == self.column and not self.is_descending
        return f"{'-' if is_descending else ''}{column}"

    def aria(self, column: str) -> str:
        """Return the column's `aria-sort`, "" if the list is not sorted by it."""
        if column != self.column:
            return ""
        return "descending" if self.is_descending else "ascending"


def parse_sorting(given: str, offered: Collection[str], default: str) -> Sorting:
    """Return the sorting that the URL names, or the default if it is not one of those offered."""
    parameter = given if given.removeprefix("-") in offered else default
    return Sorting(parameter.removeprefix("-"), parameter.startswith("-"), default)


AssigneeChoice: TypeAlias = Literal["", "mine", "nobodys"]
_ASSIGNEE_CHOICES: tuple[AssigneeChoice, ...] = ("mine", "nobodys")


def parse_assignee_filter(
    request: PortalRequest, access: MerchantAccess
) -> tuple[AssigneeChoice, AssigneeFilter]:
    """Return the assignee choice in the URL, and the filter for it."""
    given = request.get_parameter("whose")
    asked: AssigneeChoice = next((each for each in _ASSIGNEE_CHOICES if each == given), "")
    if asked == "mine":
        return asked, AssigneeFilter(user_id=access.person.user_id)
    return asked, AssigneeFilter(is_unassigned=True) if asked else ANY_ASSIGNEE


async def list_assignable_users(work: Work, access: MerchantAccess) -> Sequence[Assignee]:
    """List the users whom this user can assign. Only users who may respond can assign others. A
    merchant's own staff sees its own colleagues only."""
    work.require(Right.READ_CLAIMS)
    if not access.may(Right.ANSWER):
        return ()
    return await list_colleagues(
        work.tx, work.merchant_id, includes_global_roles=not access.is_merchant_staff
    )


def parse_assignee(fields: FormFields, name: str) -> UUID | None:
    """Return the id of the chosen user, or None for unassigned."""
    try:
        return UUID(fields[name])
    except ValueError:
        return None
