"""The token endpoint as defined in RFC 6749, and OAuth libraries that use it."""

import asyncio
import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from authlib.integrations.base_client import OAuthError as AuthlibError
from authlib.integrations.requests_client import OAuth2Session as AuthlibSession
from oauthlib.oauth2 import BackendApplicationClient, InvalidClientError
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

from dunwell.accounts.merchants.credentials.tokens import NewCredential
from dunwell.platform.clock import MovableClock
from tests.support.api import Api, form_of
from tests.support.api_server import a_server

# The arguments are the origin, the credential, and "basic" or "form". The result is the token
# response.
Fetch = Callable[[str, NewCredential, str], dict[str, Any]]


def basic(client_id: str, secret: str) -> dict[str, str]:
    packed = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {packed}"}


async def ask(api: Api, form: dict[str, str] | None = None, **given: object) -> httpx.Response:
    data = form_of(api.nordwind.credential) if form is None else form
    return await api.nordwind.send("POST", "/token", token="", data=data, **given)  # type: ignore[arg-type]


async def test_form_fields_get_a_bearer_token_for_an_hour_without_an_envelope(api: Api) -> None:
    answer = await ask(api)

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    body = answer.json()
    assert list(body) == ["access_token", "token_type", "expires_in"]
    assert (body["token_type"], body["expires_in"]) == ("bearer", 3600)


async def test_http_basic_authentication_gets_a_token(api: Api) -> None:
    credential = api.nordwind.credential
    headers = basic(credential.client_id, credential.client_secret)

    answer = await ask(api, {"grant_type": "client_credentials"}, headers=headers)

    assert answer.status_code == 200


async def test_unknown_fields_are_ignored(api: Api) -> None:
    answer = await ask(api, {**form_of(api.nordwind.credential), "scope": "claims", "x": "y"})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"client_secret": "dws_wrong"}, 401, "invalid_client"),
        ({"client_id": "dwc_nobody"}, 401, "invalid_client"),
        ({"client_secret": ""}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"client_id": "a\x00b"}, 401, "invalid_client"),
        ({"x": "y" * 70_000}, 413, "invalid_request"),
    ],
)
async def test_a_refused_token_request_has_no_envelope(
    api: Api, changes: dict[str, str], status: int, error: str
) -> None:
    before = await api.count("access_tokens")

    answer = await ask(api, {**form_of(api.nordwind.credential), **changes})

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert list(answer.json()) == ["error", "error_description"]
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)
    assert await api.count("access_tokens") == before


async def test_a_missing_grant_type_and_a_repeated_field_are_refused(api: Api) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    credential = api.nordwind.credential
    body = f"client_id={credential.client_id}&client_secret={credential.client_secret}"
    for content in (body, f"{body}&grant_type=client_credentials&client_id=x", "%ff=%ff"):
        answer = await api.nordwind.send(
            "POST", "/token", token="", content=content, headers=headers
        )

        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


async def test_credentials_sent_in_two_ways_are_refused(api: Api) -> None:
    credential = api.nordwind.credential
    headers = basic(credential.client_id, credential.client_secret)

    answer = await ask(api, headers=headers)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


async def test_another_method_gets_an_error_without_an_envelope(api: Api) -> None:
    answer = await api.nordwind.http.get("/api/token")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert answer.json()["error"] == "invalid_request"


async def test_a_token_expires_after_an_hour(api: Api, clock: MovableClock) -> None:
    clock.advance(timedelta(seconds=3599))
    assert (await api.nordwind.get("/workflows-meta")).status_code == 200

    clock.advance(timedelta(seconds=1))
    answer = await api.nordwind.get("/workflows-meta")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["error"]["type"] == "AuthenticationError"


async def test_forged_and_malformed_tokens_are_refused_and_nothing_is_stored(api: Api) -> None:
    for token in ("dwt_" + "A" * 43, "x", api.nordwind.token[:-1], "a b", "\xe9", "x" * 5000):
        headers = {"Authorization": f"Bearer {token}".encode("latin-1").decode("latin-1")}
        answer = await api.nordwind.http.post(
            f"/api/merchants/{api.nordwind.merchant_id}/claims",
            headers={name: value.encode("latin-1") for name, value in headers.items()},  # type: ignore[arg-type]
            json=[],
        )
        assert answer.status_code == 401, token
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert (await api.nordwind.get("/events", token="")).status_code == 401
    assert await api.count("claims") == 0


def fetch_by_requests_oauthlib(origin: str, credential: NewCredential, way: str) -> dict[str, Any]:
    session = OAuth2Session(client=BackendApplicationClient(client_id=credential.client_id))
    given: dict[str, Any] = {
        "client_secret": credential.client_secret,
        "include_client_id": True,
    }
    if way == "basic":
        given = {"auth": HTTPBasicAuth(credential.client_id, credential.client_secret)}
    token: dict[str, Any] = session.fetch_token(f"{origin}/api/token", **given)
    return token


def fetch_by_authlib(origin: str, credential: NewCredential, way: str) -> dict[str, Any]:
    method = "client_secret_basic" if way == "basic" else "client_secret_post"
    session = AuthlibSession(
        credential.client_id, credential.client_secret, token_endpoint_auth_method=method
    )
    token: dict[str, Any] = session.fetch_token(
        f"{origin}/api/token", grant_type="client_credentials"
    )
    return token


STOCK_CLIENTS = [fetch_by_requests_oauthlib, fetch_by_authlib]


@pytest.mark.parametrize("way", ["basic", "form"])
@pytest.mark.parametrize("fetch", STOCK_CLIENTS)
async def test_oauth_libraries_get_a_token_that_is_valid_for_an_hour(
    api: Api, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, fetch: Fetch, way: str
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    async with a_server(api.app) as origin:
        token = await asyncio.to_thread(fetch, origin, api.nordwind.credential, way)
        session = OAuth2Session(token=token)
        url = f"{origin}/api/merchants/{api.nordwind.merchant_id}/workflows-meta"
        fresh = await asyncio.to_thread(session.get, url)
        clock.advance(timedelta(seconds=3600))
        expired = await asyncio.to_thread(session.get, url)

    assert (token["token_type"], token["expires_in"]) == ("bearer", 3600)
    assert (fresh.status_code, expired.status_code) == (200, 401)
    assert expired.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("way", ["basic", "form"])
@pytest.mark.parametrize("fetch", STOCK_CLIENTS)
async def test_oauth_libraries_understand_the_refusal_of_a_wrong_secret(
    api: Api, monkeypatch: pytest.MonkeyPatch, fetch: Fetch, way: str
) -> None:
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    wrong = NewCredential(api.nordwind.credential.client_id, "dws_wrong")
    async with a_server(api.app) as origin:
        with pytest.raises((InvalidClientError, AuthlibError)) as refusal:
            await asyncio.to_thread(fetch, origin, wrong, way)

    assert refusal.value.error == "invalid_client"
