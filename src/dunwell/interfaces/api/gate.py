"""Who is calling: the token of each request is read after it arrived, so that a revocation works at
once everywhere.

Nothing of the body is read before the token is found good.
"""

import re
from collections.abc import Sequence

from starlette.requests import Request

from dunwell.accounts.merchants.credentials.access import Access
from dunwell.accounts.merchants.credentials.request_allowance import RequestAllowance
from dunwell.accounts.merchants.credentials.secrets import hash_secret
from dunwell.accounts.merchants.credentials.store import Presented, find_accesses
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.request_sets import Gathering
from dunwell.interfaces.api.call import Tools
from dunwell.interfaces.api.paths import read_merchant_id
from dunwell.platform.errors import AuthenticationError, NotFound

# RFC 6750, 2.1.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)
# Tokens read by one statement.
_MOST_TOGETHER = 200


class Gate:
    """Lets requests in, one process's share of the rate limits in hand."""

    def __init__(self, tools: Tools) -> None:
        self._clock, self._database = tools.resources.clock, tools.resources.database
        self._allowance = RequestAllowance()
        self._looking_up = Gathering(self._find, _MOST_TOGETHER)

    async def admit(self, request: Request) -> tuple[Access, Merchant]:
        """The credential behind the request and the merchant in its path.

        One statement for all requests that arrive together, sent after each of them arrived; and
        one more a block of requests. Raises AuthenticationError, RateLimited,
        NotFound (no such merchant, or not this credential's).
        """
        access = await self._find_access(request)
        await self._allowance.spend(self._database, access, self._clock.now())
        return access, _find_merchant(request, access)

    async def admit_again(self, request: Request) -> tuple[Access, Merchant]:
        """What is so by now of a request that was admitted a while ago. Raises AuthenticationError
        and NotFound."""
        access = await self._find_access(request)
        return access, _find_merchant(request, access)

    async def _find_access(self, request: Request) -> Access:
        given = request.path_params["merchant_id"]
        presented = Presented(hash_secret(_read_token(request)), read_merchant_id(given))
        access = await self._looking_up.ask(None, presented)
        if access is None:
            raise AuthenticationError(
                "The access token is wrong, expired or revoked. Request a new one: POST /api/token."
            )
        return access

    async def _find(self, presented: Sequence[Presented]) -> Sequence[Access | None]:
        async with self._database.connection() as connection:
            return await find_accesses(connection, presented, self._clock.now())


def _find_merchant(request: Request, access: Access) -> Merchant:
    """Raises NotFound."""
    if access.merchant is None:
        given = request.path_params["merchant_id"]
        raise NotFound(
            f"There is no merchant {given[:64]} that this credential reaches. Check the merchant "
            "id in the path."
        )
    return access.merchant


def _read_token(request: Request) -> str:
    found = _BEARER.fullmatch(request.headers.get("authorization", "").strip())
    if found is None:
        raise AuthenticationError(
            "Send Authorization: Bearer <ACCESS_TOKEN>; get a token from POST /api/token."
        )
    return found.group(1)
