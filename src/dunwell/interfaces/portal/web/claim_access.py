"""Open a claim from any page, by the id in the address or by a typed reference, and record who
looked at claims."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import ClaimView, get_claim
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import NotFound, ValidationError

_MAX_DIGITS = 18


def parse_claim_id(request: PortalRequest) -> int:
    """Parse the claim's id. Raises NotFound if it is not valid."""
    given = request.path_params["claim_id"]
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise NotFound("There is no such claim.")
    return int(given)


def read_id(request: PortalRequest, name: str) -> UUID:
    """Parse an id of the address. Raises NotFound if it is not valid."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotFound("There is no such page.") from None


def read_known_id(fields: FormFields, name: str) -> UUID:
    """Parse an id that the form carries. Raises NotFound if it is not valid."""
    try:
        return UUID(fields[name])
    except ValueError:
        raise NotFound("There is no such thing.") from None


async def record_list_view(
    work: Work, access: MerchantAccess, filters: Mapping[str, str], count: int
) -> None:
    """Record in the audit log that a merchant's own staff looked at a list of claims, with the
    filters and the number of claims shown. A search text may be personal, so it is masked."""
    work.require(Right.READ_CLAIMS)
    if access.is_outsider:
        shown = {name: MASKED if name == "q" else text for name, text in filters.items()}
        subject = f"merchant:{work.merchant_id}"
        await save_audit(work, "claims.look", subject, filters=shown, shown=count)


async def open_claim(
    work: Work, access: MerchantAccess, claim_id: int, *, file: str | None = None
) -> ClaimView:
    """Load a claim, and record in the audit log that a merchant's own staff looked at it. file: the
    id of the file they opened. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    view = await get_claim(work, claim_id)
    if access.is_outsider:
        details: dict[str, Any] = {} if file is None else {"file": file}
        await save_audit(work, "claim.look", f"claim:{claim_id}", **details)
    return view


async def find_typed_claims(work: Work, typed: str) -> list[int]:
    """Return the claim with this reference or number, otherwise up to two that the search finds.
    The search knows a claim some seconds after it was created."""
    work.require(Right.READ_CLAIMS)
    if not typed:
        return []
    wanted = ClaimFilter(reference_number=typed)
    found = (await list_claims(work, limit=2, wanted=wanted)).items
    if not found and typed.isascii() and typed.isdecimal() and len(typed) <= _MAX_DIGITS:
        with suppress(NotFound):
            return [(await get_claim(work, int(typed))).claim_id]
    if not found:
        with suppress(ValidationError):
            found = (await search_claims(work, typed, limit=2)).items
    return [each.claim_id for each in found]
