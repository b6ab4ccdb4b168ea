"""Looking at a claim from any page: its id in the address, or what somebody typed for it, and the
note that somebody looked."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.read_claim import ClaimView, get_claim
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import NotFound, ValidationError

_MOST_DIGITS = 18


def read_claim_id(visit: PortalRequest) -> int:
    """Raises NotFound for what can be no claim's."""
    given = visit.path_params["claim_id"]
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise NotFound("There is no such claim.")
    return int(given)


def read_id(visit: PortalRequest, name: str) -> UUID:
    """Raises NotFound for what can be no id."""
    try:
        return UUID(visit.path_params[name])
    except ValueError:
        raise NotFound("There is no such page.") from None


def read_known_id(fields: FormFields, name: str) -> UUID:
    """What a form says of what its page had shown. Raises NotFound for what can be no id."""
    try:
        return UUID(fields[name])
    except ValueError:
        raise NotFound("There is no such thing.") from None


async def note_list(
    work: Work, access: MerchantAccess, filters: Mapping[str, str], count: int
) -> None:
    """A merchant's own staff has looked at a list of claims: one row, with the filters and how many
    were shown. What was searched for may be a person's, and is masked."""
    work.require(Right.READ_CLAIMS)
    if access.is_outsider:
        shown = {name: MASKED if name == "q" else text for name, text in filters.items()}
        subject = f"merchant:{work.merchant_id}"
        await save_audit(work, "claims.look", subject, filters=shown, shown=count)


async def open_claim(
    work: Work, access: MerchantAccess, claim_id: int, *, file: str | None = None
) -> ClaimView:
    """Kept in the audit log when a merchant's own staff looks. file: the id of which of its files.
    Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    view = await get_claim(work, claim_id)
    if access.is_outsider:
        details: dict[str, Any] = {} if file is None else {"file": file}
        await save_audit(work, "claim.look", f"claim:{claim_id}", **details)
    return view


async def find_typed_claims(work: Work, typed: str) -> list[int]:
    """The one of this reference or number, else up to two that the search finds, which knows a
    claim some seconds after it was created."""
    work.require(Right.READ_CLAIMS)
    if not typed:
        return []
    wanted = ClaimFilter(reference_number=typed)
    found = (await list_claims(work, limit=2, wanted=wanted)).items
    if not found and typed.isascii() and typed.isdecimal() and len(typed) <= _MOST_DIGITS:
        with suppress(NotFound):
            return [(await get_claim(work, int(typed))).claim_id]
    if not found:
        with suppress(ValidationError):
            found = (await search_claims(work, typed, limit=2)).items
    return [each.claim_id for each in found]
