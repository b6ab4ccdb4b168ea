"""Who is calling: reads the token on each request, so that a revocation works at once everywhere.

Nothing of the body is read before the token is found good.
"""

import re

from starlette.requests import Request

from dunwell.api.call import Tools
from dunwell.api.paths import read_merchant_id
from dunwell.errors import AuthenticationError, NotFound
from dunwell.merchants.access import Access
from dunwell.merchants.lookup import find_access
from dunwell.merchants.merchant import Merchant
from dunwell.merchants.request_allowance import RequestAllowance
from dunwell.merchants.secrets import hash_secret

# RFC 6750, 2.1.
_BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE | re.ASCII)


class Gate:
    """Lets requests in, one process's share of the rate limits in hand."""

    def __init__(self, tools: Tools) -> None:
        self._resources = tools.resources
        self._allowance = RequestAllowance()

    async def admit(self, request: Request) -> tuple[Access, Merchant]:
        """The credential behind the request and the merchant in its path.

        One statement, and one more a block of requests. Raises AuthenticationError, RateLimited,
        NotFound (no such merchant, or not this credential's).
        """
        token_hash = hash_secret(_read_token(request))
        given = request.path_params["merchant_id"]
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            access = await find_access(connection, token_hash, read_merchant_id(given), now)
            if access is None:
                raise AuthenticationError(
                    "The access token is wrong, expired or revoked. Request a new one: "
                    "POST /api/token."
                )
            await self._allowance.spend(connection, access, now)
        if access.merchant is None:
            raise NotFound(
                f"There is no merchant {given[:64]} that this credential reaches. Check the "
                "merchant id in the path."
            )
        return access, access.merchant


def _read_token(request: Request) -> str:
    found = _BEARER.fullmatch(request.headers.get("authorization", "").strip())
    if found is None:
        raise AuthenticationError(
            "Send Authorization: Bearer <ACCESS_TOKEN>; get a token from POST /api/token."
        )
    return found.group(1)
