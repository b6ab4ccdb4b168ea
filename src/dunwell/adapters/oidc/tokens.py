"""Check the tokens of an identity provider and read their claims (OpenID Connect Core 1.0,
Back-Channel Logout 1.0).

Only signatures by the provider's public keys are accepted. "none" and algorithms with a shared
secret are refused, whatever the token's header says. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings
from dunwell.accounts.users.single_sign_on.provider import IdentityClaims, LogoutToken
from dunwell.accounts.users.user import MAX_NAME_LENGTH

ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
)  # fmt: skip
# The greatest difference of two clocks.
LEEWAY_SECONDS = 60
# An older logout token is refused.
_LOGOUT_LIFETIME = timedelta(minutes=10)
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_END_OF_TIME = 253_402_300_800
_MAX_TEXT_LENGTH, _MAX_SUBJECT_LENGTH, _MAX_GROUPS = 2_000, 255, 2_000


class TokenRefused(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The token is not valid. The message is a short reason for the log and never contains a part
    of the token."""


class KeyUnknown(TokenRefused):
    """None of the known keys verifies the signature. The provider may have newer keys."""


@dataclass(frozen=True, slots=True)
class ExpectedClaims:
    """The values that an ID token must match."""

    nonce: str
    access_token: str | None


def parse_keys(body: bytes) -> KeySet:
    """Parse a key set. Raises TokenRefused."""
    try:
        return KeySet.import_key_set(msgspec.json.decode(body, type=dict[str, Any]))  # type: ignore[arg-type]
    except (msgspec.MsgspecError, JoseError, ValueError, TypeError, KeyError) as error:
        raise TokenRefused("malformed keys") from error


def check_id_token(
    provider: IdentityProviderSettings,
    token: str,
    keys: KeySet,
    expected: ExpectedClaims,
    *,
    now: datetime,
) -> Mapping[str, Any]:
    """Return the claims of a valid ID token. Raises TokenRefused, KeyUnknown."""
    decoded = _decode(token, keys)
    claims = CodeIDToken(
        decoded.claims,
        decoded.header,
        options={
            "iss": {"essential": True, "value": provider.issuer},
            "aud": {"essential": True, "value": provider.client_id},
            "nonce": {"essential": True, "value": expected.nonce},
        },
        params={
            "nonce": expected.nonce,
            "client_id": provider.client_id,
            "access_token": expected.access_token,
        },
    )
    try:
        claims.validate(now=int(now.timestamp()), leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise TokenRefused(f"claims: {type(error).__name__}") from error
    _require_text(claims.get("sub"), _MAX_SUBJECT_LENGTH)
    return dict(claims)


def check_logout_token(
    provider: IdentityProviderSettings, token: str, keys: KeySet, now: datetime
) -> LogoutToken:
    """Return the contents of a valid logout token. Raises TokenRefused, KeyUnknown."""
    claims = _decode(token, keys).claims
    registry = JWTClaimsRegistry(
        int(now.timestamp()),
        LEEWAY_SECONDS,
        iss={"essential": True, "value": provider.issuer},
        aud={"essential": True, "value": provider.client_id},
        iat={"essential": True},
        jti={"essential": True},
        events={"essential": True},
    )
    try:
        registry.validate(claims)
    except (JoseError, ValueError, TypeError) as error:
        raise TokenRefused(f"claims: {type(error).__name__}") from error
    events = claims["events"]
    is_logout = isinstance(events, dict) and isinstance(events.get(_LOGOUT_EVENT), dict)
    # With a nonce it could be an ID token, which must not end a session.
    if not is_logout or "nonce" in claims:
        raise TokenRefused("not a logout token")
    issued_at = datetime.fromtimestamp(claims["iat"], UTC)
    if issued_at + _LOGOUT_LIFETIME < now:
        raise TokenRefused("too old")
    subject, session = claims.get("sub"), claims.get("sid")
    if subject is None and session is None:
        raise TokenRefused("neither subject nor session")
    return LogoutToken(
        issuer=provider.issuer,
        token_id=_require_text(claims["jti"], _MAX_TEXT_LENGTH),
        subject=None if subject is None else _require_text(subject, _MAX_SUBJECT_LENGTH),
        session=None if session is None else _require_text(session, _MAX_TEXT_LENGTH),
        issued_at=issued_at,
    )


def parse_identity(provider: IdentityProviderSettings, claims: Mapping[str, Any]) -> IdentityClaims:
    """Return the identity in the claims of a valid ID token, which may be completed by claims of
    the userinfo endpoint."""
    session, acr = claims.get("sid"), claims.get("acr")
    return IdentityClaims(
        issuer=provider.issuer,
        subject=claims["sub"],
        email=_parse_text(claims.get("email")),
        name=_parse_name(claims),
        locale=_parse_text(claims.get("locale")),
        groups=_parse_set(claims.get(provider.groups_claim)),
        session=session if isinstance(session, str) and session else None,
        acr=acr if isinstance(acr, str) else None,
        amr=_parse_set(claims.get("amr")),
        issued_at=datetime.fromtimestamp(claims["iat"], UTC),
        authenticated_at=_parse_instant(claims.get("auth_time")),
    )


def _decode(token: str, keys: KeySet) -> jwt.Token:
    try:
        return jwt.decode(token, keys, algorithms=ALGORITHMS)
    except JoseError as error:
        name = type(error).__name__
        if name in ("InvalidKeyIdError", "BadSignatureError"):
            raise KeyUnknown(name) from error
        raise TokenRefused(name) from error
    except (ValueError, TypeError, KeyError) as error:
        raise TokenRefused("malformed token") from error


def _require_text(value: object, max_length: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= max_length or not value.isprintable():
        raise TokenRefused("malformed claim")
    return value


def _parse_text(value: object) -> str:
    return value.strip() if isinstance(value, str) and len(value) <= _MAX_TEXT_LENGTH else ""


def _parse_instant(value: object) -> datetime | None:
    """Return the instant of a number of seconds since 1970, None for anything else and for years
    after 9999."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _END_OF_TIME:
        return None
    return datetime.fromtimestamp(value, UTC)


def _parse_name(claims: Mapping[str, Any]) -> str:
    """Return the first printable value of the claims that can contain the name."""
    for claim in ("name", "preferred_username"):
        name = _parse_text(claims.get(claim))[:MAX_NAME_LENGTH]
        if name and name.isprintable():
            return name
    return ""


def _parse_set(value: object) -> frozenset[str]:
    """Return the strings of a claim, which is a list of strings or a single string; empty for
    anything else."""
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return frozenset(text for text in values[:_MAX_GROUPS] if isinstance(text, str))
