"""What requests to GoCardless have in common: the version, keys, pages of lists, and conflicts."""

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

import msgspec

from dunwell.accounts.installation.payment_providers import GoCardlessAccount
from dunwell.adapters.payments.api_client import ApiClient
from dunwell.adapters.payments.gocardless.objects import (
    EventPage,
    PaymentListPage,
    PayoutItemPage,
    PayoutPage,
    RefundPage,
    parse_error,
)
from dunwell.platform.http.client import HttpResponse

JSON_HEADERS = {"Content-Type": "application/json"}
_API_VERSION = "2015-07-06"

Page = TypeVar("Page", EventPage, PaymentListPage, RefundPage, PayoutPage, PayoutItemPage)


class GoCardlessClient(ApiClient):
    """The API of one account."""

    def __init__(self, name: str, account: GoCardlessAccount, token: bytes, **options: Any) -> None:
        headers = {
            "Authorization": f"Bearer {token.decode('utf-8', 'replace')}",
            "GoCardless-Version": _API_VERSION,
        }
        super().__init__(
            name, account.base_url, account.networks, headers,
            parse_reason=lambda body: parse_error(body).reason, should_repeat=_should_repeat,
            **options,
        )  # fmt: skip

    async def post(
        self, path: str, document: Mapping[str, Any], key: UUID | None = None
    ) -> HttpResponse:
        """Send a document. With an idempotency key that was used before, the answer is a conflict
        that names the object created by the earlier request."""
        headers = JSON_HEADERS if key is None else {**JSON_HEADERS, "Idempotency-Key": str(key)}
        return await self.send("POST", path, headers, msgspec.json.encode(document))

    async def list_all(self, path: str, query: Mapping[str, str], page: type[Page]) -> list[Page]:
        """Return all pages of a list."""
        start = f"{path}?{urlencode({**query, 'limit': '500'})}"

        def find_next(list_page: Page) -> str | None:
            after = list_page.meta.cursors.after
            return None if after is None else f"{start}&after={after}"

        return await self.list_pages(start, page, find_next)


def _should_repeat(response: HttpResponse) -> bool:
    """Return whether to repeat a request. A 409 is not a failure: it names the object that an
    earlier request with the same key created."""
    return response.status >= 500
