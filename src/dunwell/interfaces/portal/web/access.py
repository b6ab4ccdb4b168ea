"""Requests to the portal, the user's access to the merchant in the URL, and claims that are
opened with a record in the audit log.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.user import SignedInUser
from dunwell.core.claims.access import ClaimView, get_claim
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.requests import PageRequest
from dunwell.platform.errors import NotFound, ValidationError

LANGUAGE_COOKIE = "dunwell-portal-language"


class PortalRequest(PageRequest):
    max_form_bytes: ClassVar[int] = 256 * 1024
    max_form_fields: ClassVar[int] = 500

    @property
    def cookie_language(self) -> str:
        """Return the language in the cookie, or ""."""
        language: str = self.cookies.get(LANGUAGE_COOKIE, "")
        return language


@dataclass(frozen=True, slots=True)
class MerchantAccess:
    """The access of one user to one merchant."""

    person: SignedInUser
    merchant: Merchant

    @property
    def merchant_id(self) -> int:
        return self.merchant.merchant_id

    @property
    def actor(self) -> Actor:
        return self.person.actor_at(self.merchant_id)

    def may(self, right: Right) -> bool:
        return right in self.person.rights_at(self.merchant_id)

    @property
    def is_merchant_staff(self) -> bool:
        """True for the merchant's own staff, False for the operator's. The audit log records which
        claims the merchant's staff opens."""
        return self.person.global_role is None


_MAX_DIGITS = 18


def parse_claim_id(request: PortalRequest) -> int:
    """Parse the claim's id. Raises NotFound if it is not valid."""
    given = request.path_params["claim_id"]
    if not (given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS):
        raise NotFound("There is no such claim.")
    return int(given)


def parse_path_id(request: PortalRequest, name: str) -> UUID:
    """Parse an id of the URL. Raises NotFound if it is not valid."""
    try:
        return UUID(request.path_params[name])
    except ValueError:
        raise NotFound("There is no such page.") from None


def parse_form_id(fields: FormFields, name: str) -> UUID:
    """Parse an id that the form carries. Raises NotFound if it is not valid."""
    try:
        return UUID(fields[name])
    except ValueError:
        raise NotFound("There is no such entry.") from None


async def record_list_view(
    work: Work, access: MerchantAccess, filters: Mapping[str, str], count: int
) -> None:
    """Record in the audit log that a merchant's own staff looked at a list of claims, with the
    filters and the number of claims shown. A search text may be personal, so it is masked."""
    work.require(Right.READ_CLAIMS)
    if access.is_merchant_staff:
        shown = {name: MASKED if name == "q" else text for name, text in filters.items()}
        subject = f"merchant:{work.merchant_id}"
        await save_audit(work, "claims.look", subject, filters=shown, shown=count)


async def open_claim(
    work: Work, access: MerchantAccess, claim_id: int, *, file: str | None = None
) -> ClaimView:
    """Load a claim, and record in the audit log that a merchant's own staff looked at it. `file`
    is the id of the file that they opened. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    view = await get_claim(work, claim_id)
    if access.is_merchant_staff:
        details: dict[str, Any] = {} if file is None else {"file": file}
        await save_audit(work, "claim.look", f"claim:{claim_id}", **details)
    return view


async def find_typed_claims(work: Work, typed: str) -> list[int]:
    """Return the id of the claim with this reference or number, otherwise the ids of up to two
    claims that the search finds. The search finds a new claim only after some seconds."""
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
