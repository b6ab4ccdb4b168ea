"""Single sign-on with an OpenID Connect provider: the authorization code flow with PKCE, state and
nonce."""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import structlog
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc.jwk import KeySet

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings
from dunwell.accounts.users.single_sign_on.provider import (
    AttemptSecrets,
    AuthorizationCode,
    IdentityClaims,
    LogoutToken,
    ProviderUnavailable,
    TokenFault,
    TokenRejected,
)
from dunwell.adapters.oidc.discovery import (
    IdentityProviderUnavailable,
    Metadata,
    ProviderDiscovery,
    parse_object,
)
from dunwell.adapters.oidc.tokens import (
    ExpectedClaims,
    KeyUnknown,
    TokenRefused,
    check_id_token,
    check_logout_token,
    parse_identity,
)

_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
# The greatest age of a sign-in that must be recent. Some providers treat 0 as missing.
_RECENT_SECONDS = 60
_MAX_CODE_LENGTH, _MAX_TOKEN_LENGTH = 4_000, 64_000
# Claims that the userinfo endpoint may add. Claims about how the user signed in (acr, amr) come
# from the ID token only.
_USERINFO_CLAIMS = ("email", "name", "preferred_username", "locale")
_Checked = TypeVar("_Checked")

log = structlog.get_logger(__name__)


class OidcProvider:
    """One identity provider of the installation file. It must be closed at the end."""

    def __init__(self, provider: IdentityProviderSettings, secret: str) -> None:
        self.settings = provider
        self._secret = secret
        self._discovery = ProviderDiscovery(provider)

    async def build_authorization_url(
        self, secrets: AttemptSecrets, redirect_uri: str, now: datetime, *, is_fresh: bool = False
    ) -> str | ProviderUnavailable:
        try:
            metadata = await self._discovery.get_metadata(now)
        except IdentityProviderUnavailable:
            return ProviderUnavailable()
        address: str = prepare_grant_uri(
            metadata.authorization_endpoint,
            self.settings.client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=" ".join(self.settings.scopes),
            state=secrets.state,
            nonce=secrets.nonce,
            code_challenge=create_s256_code_challenge(secrets.verifier),
            code_challenge_method="S256",
            acr_values=" ".join(self.settings.acr_values) or None,
            # With max_age, a provider must send auth_time (OpenID Connect Core 1.0, 3.1.2.1).
            prompt="login" if is_fresh else None,
            max_age=_RECENT_SECONDS if is_fresh else None,
        )
        return address

    async def redeem(
        self, code: AuthorizationCode, now: datetime
    ) -> IdentityClaims | TokenRejected | ProviderUnavailable:
        try:
            metadata = await self._discovery.get_metadata(now)
            if not self._has_right_issuer(metadata, code.issuer):
                return TokenRejected(TokenFault.ISSUER)
            tokens = await self._request_tokens(metadata, code)
            if tokens is None:
                return TokenRejected(TokenFault.CODE)
            claims = await self._check_tokens(metadata, tokens, code.secrets, now)
        except IdentityProviderUnavailable:
            return ProviderUnavailable()
        except TokenRefused as error:
            log.warning("token refused", provider=self.settings.name, reason=str(error))
            return TokenRejected(TokenFault.TOKEN)
        return parse_identity(self.settings, claims)

    async def parse_logout_token(
        self, token: str, now: datetime
    ) -> LogoutToken | TokenRejected | ProviderUnavailable:
        try:
            return await self._check_with_keys(
                token, now, lambda keys: check_logout_token(self.settings, token, keys, now)
            )
        except IdentityProviderUnavailable:
            return ProviderUnavailable()
        except TokenRefused as error:
            log.warning("logout refused", provider=self.settings.name, reason=str(error))
            return TokenRejected(TokenFault.TOKEN)

    async def find_logout_url(self, back_to: str, now: datetime) -> str | None:
        try:
            metadata = await self._discovery.get_metadata(now)
        except IdentityProviderUnavailable:
            return None
        if metadata.end_session_endpoint is None:
            return None
        separator = "&" if "?" in metadata.end_session_endpoint else "?"
        client, back = quote(self.settings.client_id, safe=""), quote(back_to, safe="")
        query = f"client_id={client}&post_logout_redirect_uri={back}"
        return f"{metadata.end_session_endpoint}{separator}{query}"

    async def check(self, now: datetime) -> tuple[str | None, float | None]:
        """Test the provider. Return what is wrong with it, or None if it responds with the right
        issuer and keys, and by how many seconds its clock is ahead of `now`, if it sends its time.
        """
        try:
            await self._discovery.get_keys(now)
        except IdentityProviderUnavailable as error:
            return str(error), None
        return None, self._discovery.skew_seconds

    async def close(self) -> None:
        await self._discovery.close()

    def _has_right_issuer(self, metadata: Metadata, issuer: str | None) -> bool:
        """Return whether the authorization response comes from this provider. It must name its
        issuer if the provider's metadata say that it always does (RFC 9207)."""
        if issuer is None:
            return not metadata.authorization_response_iss_parameter_supported
        return issuer == self.settings.issuer

    async def _request_tokens(
        self, metadata: Metadata, code: AuthorizationCode
    ) -> Mapping[str, Any] | None:
        """Return the tokens, or None if the provider refuses the code or our credentials."""
        if len(code.code) > _MAX_CODE_LENGTH:
            return None
        headers, credentials = dict(_FORM), {}
        client_id = self.settings.client_id
        if metadata.accepts_basic:
            # Both are form-encoded (RFC 6749, 2.3.1).
            pair = f"{quote(client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            credentials = {"client_id": client_id, "client_secret": self._secret}
        body: str = prepare_token_request(
            "authorization_code", code=code.code, redirect_uri=code.redirect_uri,
            code_verifier=code.secrets.verifier, **credentials,
        )  # fmt: skip
        answer = await self._discovery.post(metadata.token_endpoint, body.encode(), headers)
        if answer.status == 200:
            return parse_object(answer.start)
        log.warning("code refused", provider=self.settings.name, status=answer.status)
        return None

    async def _check_tokens(
        self, metadata: Metadata, tokens: Mapping[str, Any], secrets: AttemptSecrets, now: datetime
    ) -> Mapping[str, Any]:
        """Return the ID token's claims, completed by those of the userinfo endpoint if some are
        missing. Raises IdentityProviderUnavailable, TokenRefused."""
        token, access = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(token, str):
            raise TokenRefused("no ID token")
        expected = ExpectedClaims(secrets.nonce, access if isinstance(access, str) else None)
        claims = await self._check_with_keys(
            token, now,
            lambda keys: check_id_token(self.settings, token, keys, expected, now=now),
        )  # fmt: skip
        groups = self.settings.groups_claim
        is_complete = {"email", groups} <= claims.keys()
        if is_complete or metadata.userinfo_endpoint is None or expected.access_token is None:
            return claims
        userinfo = await self._discovery.get_object(
            metadata.userinfo_endpoint,
            {"Authorization": f"Bearer {expected.access_token}", "Accept": "application/json"},
        )
        if userinfo.get("sub") != claims["sub"]:
            raise TokenRefused("userinfo of another subject")
        added = {name: userinfo[name] for name in userinfo.keys() & {*_USERINFO_CLAIMS, groups}}
        return {**added, **claims}

    async def _check_with_keys(
        self, token: str, now: datetime, check: Callable[[KeySet], _Checked]
    ) -> _Checked:
        """Check a token with the known keys and, if none fits, once more with newly fetched ones.
        Raises IdentityProviderUnavailable, TokenRefused."""
        if len(token) > _MAX_TOKEN_LENGTH:
            raise TokenRefused("token too long")
        try:
            return check(await self._discovery.get_keys(now))
        except KeyUnknown:
            return check(await self._discovery.get_keys(now, refresh=True))
