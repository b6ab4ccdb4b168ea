"""What the adapters of payment providers share: sending requests, repeating those that failed,
reading JSON answers of a bounded size, and mapping failures to the errors of the port.

Every answer is outside input. It is decoded into a struct that names the fields that are used; an
answer that does not fit is PaymentProviderUnavailable. A request that changes something has an
idempotency key or can be repeated without harm, so it may be sent again after a failure.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_network
from types import MappingProxyType
from typing import TypeVar

import msgspec
import structlog

from dunwell.adapters.payments.api_values import clean_text
from dunwell.cases.payments.provider import (
    REFUSAL,
    PaymentProviderKeyRejected,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)
from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client

USER_AGENT = "Dunwell-Payments/1"
# Callers wait 20 seconds for an operation. One request and its repetition fit into that.
_REQUEST_SECONDS = 8.0
_NO_REPEAT_AFTER_SECONDS = 9.0
_WAIT_SECONDS = (0.2, 0.5, 1.0)
# A page of a list has at most a few hundred entries of some kilobytes.
_MAX_BYTES = 4 * 1024 * 1024
# A longer list is refused, because its first pages would be mistaken for the complete list.
_MAX_PAGES = 50
_MAX_REASON_LENGTH = 200
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)


class PaymentProviderUnusable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The settings of an account do not work. The text says what an operator has to do."""


@dataclass(frozen=True, slots=True)
class AccessProbe:
    """A harmless request that tests one permission. A probe of a permission to change something
    names no existing object."""

    # The permission's name in the provider's dashboard.
    permission: str
    method: str
    path: str
    body: bytes | None = None


def is_repeatable_failure(response: HttpResponse) -> bool:
    """Return whether to repeat a request: another request with its idempotency key is still running
    (409), or the provider failed."""
    return response.status == 409 or response.status >= 500


class ApiClient:
    """Sends the requests of one account. `headers` are sent with each of them. The provider may be
    in no other network than `networks`; without any, it may have any public address. `parse_reason`
    returns the reason in the body of a refusal, or ""."""

    def __init__(  # noqa: PLR0913 - how one provider's API differs from another's
        self, account: str, base_url: str, networks: Sequence[str], headers: Mapping[str, str], *,
        parse_reason: Callable[[bytes], str],
        should_repeat: Callable[[HttpResponse], bool] = is_repeatable_failure,
        wait_seconds: Sequence[float] = _WAIT_SECONDS,
    ) -> None:  # fmt: skip
        self._account = account
        self._base_url = base_url.rstrip("/")
        self._networks = [ip_network(network) for network in networks]
        self._headers = headers
        self._parse_reason = parse_reason
        self._should_repeat = should_repeat
        self._wait_seconds = wait_seconds
        self._opening = asyncio.Lock()
        self._exit_stack = AsyncExitStack()
        self._client: HttpClient | None = None

    async def send(
        self, method: str, path: str, headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None,
    ) -> HttpResponse:  # fmt: skip
        """Send a request and repeat it after failures. Return any answer that is no failure, also a
        refusal. Raises PaymentProviderUnavailable."""
        client = await self._open_client_once()
        started = time.monotonic()
        all_headers = {**self._headers, **headers}
        for wait in (*self._wait_seconds, None):
            answer = await client.request(
                method, self._base_url + path, all_headers, body, max_bytes=_MAX_BYTES
            )
            is_failure = isinstance(answer, NoResponse) or self._should_repeat(answer)
            is_late = time.monotonic() - started > _NO_REPEAT_AFTER_SECONDS
            if not is_failure or is_late or wait is None:
                break
            await asyncio.sleep(wait)
        if isinstance(answer, NoResponse):
            raise self._unavailable(answer.reason)
        if answer.status == 429 or answer.status >= 500 or self._should_repeat(answer):
            raise self._unavailable(f"status {answer.status}")
        return answer

    async def get(
        self, path: str, answer_type: type[Answer], headers: Mapping[str, str] = _NO_HEADERS
    ) -> Answer:
        """Send a GET request and return the decoded answer. Raises PaymentProviderUnavailable, also
        if the object does not exist."""
        response = await self.send("GET", path, headers)
        try:
            return self.parse(response, answer_type)
        except PaymentProviderRefused as error:
            raise self._unavailable(error.message) from error

    async def list_pages(
        self, path: str, page_type: type[Answer], find_next: Callable[[Answer], str | None],
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> list[Answer]:  # fmt: skip
        """Return all pages of a list. `find_next` returns the path of the page after a page, or
        None. Raises PaymentProviderUnavailable."""
        pages: list[Answer] = []
        next_path: str | None = path
        while next_path is not None:
            if len(pages) == _MAX_PAGES:
                raise self._unavailable("a list is too long")
            pages.append(await self.get(next_path, page_type, headers))
            next_path = find_next(pages[-1])
        return pages

    def parse(self, response: HttpResponse, answer_type: type[Answer]) -> Answer:
        """Return the decoded answer. Raises PaymentProviderKeyRejected, PaymentProviderRefused for
        another refusal, and PaymentProviderUnavailable for an answer that cannot be used."""
        if response.status in (401, 403):
            log.error(
                "payment provider rejected key", provider=self._account, status=response.status
            )
            raise PaymentProviderKeyRejected("The payment provider does not accept the key.")
        if 400 <= response.status < 500:
            reason = clean_text(self._parse_reason(response.start), _MAX_REASON_LENGTH)
            reason_or_status = reason or f"status {response.status}"
            raise PaymentProviderRefused(f"{REFUSAL}{reason_or_status}")
        if response.status not in (200, 201):
            raise self._unavailable(f"status {response.status}")
        return self.decode(response.start, answer_type)

    async def list_missing_permissions(
        self, probes: Sequence[AccessProbe], headers: Mapping[str, str]
    ) -> list[str]:
        """Return a sentence for each permission that is missing, or one that says why none can be
        tested."""
        problems = []
        for probe in probes:
            try:
                response = await self.send(probe.method, probe.path, headers, probe.body)
            except PaymentProviderUnavailable as error:
                return [error.message]
            if response.status == 401:
                return ["The payment provider does not accept the key."]
            if response.status == 403:
                problems.append(f'The key lacks the permission "{probe.permission}".')
            elif probe.body is None and probe.method == "GET" and response.status != 200:
                problems.append(
                    f"The provider answers with status {response.status} instead of 200 when "
                    f'"{probe.permission}" is tested.'
                )
        return problems

    def decode(self, body: bytes, answer_type: type[Answer]) -> Answer:
        """Decode JSON of the provider. Raises PaymentProviderUnavailable."""
        try:
            return msgspec.json.decode(body, type=answer_type)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._unavailable("the answer does not follow the API") from error

    def check_same(self, expected_id: str, answered_id: str) -> None:
        """Raise PaymentProviderUnavailable if the answer is about another object."""
        if answered_id != expected_id:
            raise self._unavailable("the answer is about another object")

    def check_page_url(self, url: str) -> str:
        """Return the address of a page for the debtor. Only a provider in the operator's own
        network may have a page without encryption. Raises PaymentProviderUnavailable."""
        if url.startswith("https://") or self._networks:
            return url
        raise self._unavailable("the address of its page is not encrypted")

    def _unavailable(self, reason: str) -> PaymentProviderUnavailable:
        log.warning("payment provider gave no usable answer", provider=self._account, reason=reason)
        return PaymentProviderUnavailable(f"The payment provider gives no usable answer: {reason}.")

    async def _open_client_once(self) -> HttpClient:
        async with self._opening:
            if self._client is None:
                self._client = await self._exit_stack.enter_async_context(
                    open_http_client(
                        allow_loopback=False, user_agent=USER_AGENT,
                        timeout_seconds=_REQUEST_SECONDS, networks=self._networks,
                    )
                )  # fmt: skip
            return self._client

    async def close(self) -> None:
        await self._exit_stack.aclose()
