"""The responses of the token endpoint (RFC 6749) and of the health checks."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.platform.text.wire import Wire


class Token(Wire, frozen=True, rename=None):
    access_token: Annotated[str, Meta(description="An opaque token. Send it as a Bearer token.")]
    token_type: Literal["bearer"]
    expires_in: Annotated[int, Meta(description="The lifetime in seconds.", examples=[3600])]


class TokenFailure(Wire, frozen=True, rename=None):
    """An error of RFC 6749, section 5.2."""

    error: Literal[
        "invalid_request",
        "invalid_client",
        "unsupported_grant_type",
        "server_error",
        "temporarily_unavailable",
    ]
    error_description: str


class Health(Wire, frozen=True):
    status: Literal["ok"]
