"""An OpenID Connect provider (code flow) with valid or invalid answers that a test sets. It runs on
a port of the loopback interface with its own keys."""

import asyncio
import base64
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey

from dunwell.platform.clock import Clock

CLIENT_ID, CLIENT_SECRET = "dunwell at work", "a secret: with/every+kind of sign"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
Claims = dict[str, Any]
# Makes a token from the correct claims and their key.
Signing = Callable[[Claims, ECKey], str]


def sign(claims: Mapping[str, Any], key: ECKey, **header: str) -> str:
    named = {"alg": "ES256", "kid": key.kid or "", **header}
    return jwt.encode(named, dict(claims), key, algorithms=["ES256"])


def a_key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", parameters={"kid": kid, "use": "sig"}, private=True)


@dataclass
class Granted:
    """An issued code and the request that it belongs to."""

    nonce: str
    challenge: str
    redirect_uri: str
    is_used: bool = False


@dataclass
class ScriptedIdentityProvider:
    clock: Clock
    issuer: str = ""
    keys: list[ECKey] = field(default_factory=lambda: [a_key("first")])
    # Claims of the next user; they override the usual ones, and None removes one.
    claims: Claims = field(default_factory=dict)
    # The answer of the userinfo endpoint; None if there is no such endpoint.
    userinfo: Claims | None = None
    signing: Signing = sign
    # Overrides parts of the provider's metadata.
    metadata: Claims = field(default_factory=dict)
    # Path -> the response in place of the usual one.
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    granted: dict[str, Granted] = field(default_factory=dict)
    # Requests wait until this event is set.
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def consent(self, address: str) -> dict[str, str]:
        """Consent as a user who was redirected to the provider. Return what the user's browser
        brings back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self.granted)}"
        self.granted[code] = Granted(asked["nonce"], asked["code_challenge"], asked["redirect_uri"])
        return {"code": code, "state": asked["state"]}

    def build_claims(self, nonce: str) -> Claims:
        now = int(self.clock.now().timestamp())
        usual: Claims = {
            "iss": self.issuer, "sub": "erika-0001", "aud": CLIENT_ID, "exp": now + 300,
            "iat": now, "nonce": nonce, "sid": "session-1", "email": "erika@example.org",
            "name": "Erika Mustermann", "locale": "de-DE", "groups": ["dunwell-admins"],
        }  # fmt: skip
        return {name: each for name, each in {**usual, **self.claims}.items() if each is not None}

    def build_logout(self, **changed: Any) -> str:
        now = int(self.clock.now().timestamp())
        usual: Claims = {
            "iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 120, "jti": "j-1",
            "events": {LOGOUT_EVENT: {}}, "sub": "erika-0001", "sid": "session-1",
        }  # fmt: skip
        claims = {name: each for name, each in {**usual, **changed}.items() if each is not None}
        return self.signing(claims, self.keys[0])

    async def answer(self, request: web.Request) -> web.Response:
        self.asked[request.path] += 1
        await self.may_answer.wait()
        if request.path in self.answers:
            status, body = self.answers[request.path]
            return web.Response(status=status, body=body, headers={"Location": "http://10.0.0.1/"})
        match request.path:
            case "/.well-known/openid-configuration":
                return web.json_response(self._describe())
            case "/keys":
                return web.json_response(
                    {"keys": [each.as_dict(private=False) for each in self.keys]}
                )
            case "/token":
                return await self._give_tokens(request)
            case "/userinfo":
                assert request.headers["Authorization"] == "Bearer access-1"
                return web.json_response(self.userinfo)
        return web.Response(status=404)

    def _describe(self) -> Claims:
        described = {
            "issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
            "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": None if self.userinfo is None else f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/end",
        }  # fmt: skip
        return {n: v for n, v in {**described, **self.metadata}.items() if v is not None}

    async def _give_tokens(self, request: web.Request) -> web.Response:
        form = await request.post()
        granted = self.granted.get(str(form["code"]))
        verifier = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        is_right = (
            granted is not None
            and not granted.is_used
            and (granted.challenge, granted.redirect_uri) == (challenge, form["redirect_uri"])
            and self._find_client(request, form) == (CLIENT_ID, CLIENT_SECRET)
        )
        if not is_right or granted is None:
            return web.json_response({"error": "invalid_grant"}, status=400)
        granted.is_used = True
        token = self.signing(self.build_claims(granted.nonce), self.keys[0])
        return web.json_response(
            {"access_token": "access-1", "token_type": "Bearer", "id_token": token}
        )

    def _find_client(self, request: web.Request, form: Mapping[str, Any]) -> tuple[str, ...]:
        given = request.headers.get("Authorization", "")
        if not given:
            return str(form.get("client_id")), str(form.get("client_secret"))
        pair = base64.b64decode(given.removeprefix("Basic ")).decode().split(":")
        return tuple(unquote(each) for each in pair)


@asynccontextmanager
async def a_scripted_identity_provider(clock: Clock) -> AsyncIterator[ScriptedIdentityProvider]:
    """Run the provider on a free port of the loopback interface."""
    provider = ScriptedIdentityProvider(clock)
    provider.may_answer.set()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", provider.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.issuer = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()
