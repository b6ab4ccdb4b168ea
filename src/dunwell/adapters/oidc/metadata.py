"""What a provider says of itself (OpenID Connect Discovery 1.0), as far as it is used. Pure."""

from typing import Any
from urllib.parse import urlsplit

import msgspec

from dunwell.accounts.installation.single_sign_on_settings import Provider

_PATH = "/.well-known/openid-configuration"


class Metadata(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    # Answers say whom they are from (RFC 9207).
    authorization_response_iss_parameter_supported: bool = False

    @property
    def takes_basic(self) -> bool:
        """Whether the client secret goes in a header; else in the form."""
        return "client_secret_basic" in self.token_endpoint_auth_methods_supported


class MetadataUnusable(ValueError):  # noqa: N818 - reads as what happened
    """In words for an operator."""


def build_discovery_address(provider: Provider) -> str:
    return provider.issuer.rstrip("/") + _PATH


def read_metadata(provider: Provider, body: bytes) -> Metadata:
    """Raises MetadataUnusable: it is another issuer's, or leads to where nobody may be sent."""
    try:
        metadata = msgspec.json.decode(body, type=Metadata)
    except msgspec.MsgspecError as error:
        raise MetadataUnusable("what it says of itself cannot be read") from error
    if metadata.issuer != provider.issuer:
        raise MetadataUnusable("it calls itself by another issuer")
    schemes = {"https"} | ({"http"} if provider.issuer.startswith("http://") else set())
    for name, address in _list_addresses(metadata).items():
        if urlsplit(address).scheme not in schemes:
            raise MetadataUnusable(f"its {name} is no https address")
    return metadata


def _list_addresses(metadata: Metadata) -> dict[str, str]:
    values: dict[str, Any] = msgspec.structs.asdict(metadata)
    return {
        name: value
        for name, value in values.items()
        if name.endswith(("_endpoint", "_uri")) and value is not None
    }
