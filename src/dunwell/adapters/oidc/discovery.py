"""Requests to an identity provider, and the cache of its metadata (OpenID Connect Discovery 1.0)
and keys."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog
from joserfc.jwk import KeySet

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings
from dunwell.adapters.oidc.tokens import TokenRefused, parse_keys
from dunwell.platform.http.client import HttpClient, HttpResponse, NoResponse, open_http_client

_PATH = "/.well-known/openid-configuration"


class Metadata(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    # True if responses name their issuer (RFC 9207).
    authorization_response_iss_parameter_supported: bool = False

    @property
    def accepts_basic(self) -> bool:
        """Return whether the client secret is sent in a header. Otherwise it is a form field."""
        return "client_secret_basic" in self.token_endpoint_auth_methods_supported


class MetadataUnusable(ValueError):  # noqa: N818 - the suffix Error would add nothing
    """The metadata cannot be used. The message is for operators."""


def build_discovery_address(provider: IdentityProviderSettings) -> str:
    return provider.issuer.rstrip("/") + _PATH


def parse_metadata(provider: IdentityProviderSettings, body: bytes) -> Metadata:
    """Return the metadata. Raises MetadataUnusable if it cannot be read, names another issuer, or
    has an address to which users must not be sent."""
    try:
        metadata = msgspec.json.decode(body, type=Metadata)
    except msgspec.MsgspecError as error:
        raise MetadataUnusable("its metadata cannot be read") from error
    if metadata.issuer != provider.issuer:
        raise MetadataUnusable("its metadata names another issuer")
    schemes = {"https"} | ({"http"} if provider.issuer.startswith("http://") else set())
    for name, address in _list_addresses(metadata).items():
        if urlsplit(address).scheme not in schemes:
            raise MetadataUnusable(f"its {name} is not an https address")
    return metadata


def _list_addresses(metadata: Metadata) -> dict[str, str]:
    values: dict[str, Any] = msgspec.structs.asdict(metadata)
    return {
        name: value
        for name, value in values.items()
        if name.endswith(("_endpoint", "_uri")) and value is not None
    }


METADATA_LIFETIME = timedelta(hours=1)
KEYS_LIFETIME = timedelta(minutes=10)
# The shortest time between two requests for unknown keys, and between two attempts at a provider
# that does not respond.
RETRY_AFTER = timedelta(seconds=10)
_REQUEST_SECONDS = 5.0
# A larger response is refused.
_MAX_BYTES = 256 * 1024
_USER_AGENT = "Dunwell"

log = structlog.get_logger(__name__)


class IdentityProviderUnavailable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The identity provider gave no usable response. The message is for operators and contains no
    secret."""


class ProviderDiscovery:
    """The metadata and keys of one provider. It must be closed at the end."""

    def __init__(self, provider: IdentityProviderSettings) -> None:
        self._provider = provider
        self._exit_stack = AsyncExitStack()
        self._client: HttpClient | None = None
        self._lock = asyncio.Lock()
        self._metadata: tuple[datetime, Metadata] | None = None
        self._keys: tuple[datetime, KeySet] | None = None
        self._failed: tuple[datetime, str] | None = None
        # How far the provider's clock was ahead of ours at the last request, None if it did not
        # send its time.
        self.skew_seconds: float | None = None

    async def get_metadata(self, now: datetime) -> Metadata:
        """Return the metadata, cached for METADATA_LIFETIME. Raises IdentityProviderUnavailable."""
        async with self._lock:
            if self._metadata is None or self._metadata[0] + METADATA_LIFETIME <= now:
                body = await self._fetch(build_discovery_address(self._provider), now)
                try:
                    self._metadata = (now, parse_metadata(self._provider, body))
                except MetadataUnusable as error:
                    raise self._record_failure(str(error), now) from error
            return self._metadata[1]

    async def get_keys(self, now: datetime, *, refresh: bool = False) -> KeySet:
        """Return the keys. Use `refresh` if no known key fits: the keys are then requested again,
        at most once in RETRY_AFTER. Raises IdentityProviderUnavailable."""
        metadata = await self.get_metadata(now)
        lifetime = RETRY_AFTER if refresh else KEYS_LIFETIME
        async with self._lock:
            if self._keys is None or self._keys[0] + lifetime <= now:
                body = await self._fetch(metadata.jwks_uri, now)
                try:
                    self._keys = (now, parse_keys(body))
                except TokenRefused as error:
                    raise self._record_failure("its keys cannot be read", now) from error
            return self._keys[1]

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Post a request once. Raises IdentityProviderUnavailable."""
        client = await self._get_client()
        answer = await client.post_once(url, body, headers, max_bytes=_MAX_BYTES)
        if isinstance(answer, NoResponse):
            raise self._log_failure(answer.reason)
        if answer.status >= 500 or len(answer.start) >= _MAX_BYTES:
            raise self._log_failure(f"it answers {answer.status}")
        return answer

    async def get_object(self, url: str, headers: Mapping[str, str]) -> Mapping[str, Any]:
        """Return a JSON object from the provider. Raises IdentityProviderUnavailable."""
        client = await self._get_client()
        answer = await client.get(url, headers, max_bytes=_MAX_BYTES)
        return parse_object(self._check(answer))

    async def _fetch(self, url: str, now: datetime) -> bytes:
        if self._failed is not None and self._failed[0] + RETRY_AFTER > now:
            raise IdentityProviderUnavailable(self._failed[1])
        client = await self._get_client()
        answer = await client.get(url, {"Accept": "application/json"}, max_bytes=_MAX_BYTES)
        if isinstance(answer, HttpResponse):
            self.skew_seconds = _compute_skew(answer, now)
        try:
            return self._check(answer)
        except IdentityProviderUnavailable as error:
            self._failed = (now, str(error))
            raise

    def _check(self, answer: HttpResponse | NoResponse) -> bytes:
        if isinstance(answer, NoResponse):
            raise self._log_failure(answer.reason)
        if answer.status != 200 or len(answer.start) >= _MAX_BYTES:
            raise self._log_failure(f"it answers {answer.status}")
        return answer.start

    def _record_failure(self, reason: str, now: datetime) -> IdentityProviderUnavailable:
        self._failed = (now, reason)
        return self._log_failure(reason)

    def _log_failure(self, reason: str) -> IdentityProviderUnavailable:
        log.warning("identity provider unavailable", provider=self._provider.name, reason=reason)
        return IdentityProviderUnavailable(reason)

    async def _get_client(self) -> HttpClient:
        if self._client is None:
            self._client = await self._exit_stack.enter_async_context(
                open_http_client(
                    allow_loopback=False,
                    user_agent=_USER_AGENT,
                    timeout_seconds=_REQUEST_SECONDS,
                    networks=[ip_network(network) for network in self._provider.networks],
                    keeps_connections=False,
                )
            )
        return self._client

    async def close(self) -> None:
        await self._exit_stack.aclose()


def _compute_skew(answer: HttpResponse, now: datetime) -> float | None:
    try:
        their_time = parsedate_to_datetime(answer.headers.get("Date", ""))
        return (their_time - now).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_object(body: bytes) -> Mapping[str, Any]:
    """Parse a JSON object. Raises IdentityProviderUnavailable for anything else."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise IdentityProviderUnavailable("its answer cannot be read") from error
