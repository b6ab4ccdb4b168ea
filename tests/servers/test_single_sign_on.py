"""Single sign-on with two servers that others wrote: oauth2-mock-server, whose answers the test
sets, and oidc-provider, which enforces the standard."""

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.single_sign_on_settings import (
    GroupRule,
    IdentityProviderSettings,
    SignInSettings,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.identity_servers import CLIENT_ID, IdentityServer, run_mock, run_provider
from tests.support.portal_sign_in import read_hidden
from tests.support.scripted_identity_provider import CLIENT_SECRET, LOGOUT_EVENT
from tests.support.served import ServedApplication, serve

START = "/portal/sign-in/with/kontor"
ERIKA = {"sub": "erika", "email": "erika@example.org", "groups": ["admins"], "name": "Erika"}


@pytest.fixture
async def served(resources: Resources, database: Database) -> AsyncIterator[ServedApplication]:
    """Uses real time, as both servers do, until a test advances the clock by some seconds."""
    clock = MovableClock(datetime.now(UTC))
    live = Resources(resources.settings, database, clock, resources.ids, resources.keys)
    async with serve(live) as served:
        yield served


@dataclass
class SignOnSetup:
    served: ServedApplication
    identity: IdentityServer
    browser: httpx.AsyncClient

    async def go(self, address: str) -> httpx.Response:
        """Follow redirects like a browser until there is a page."""
        answer = await self.browser.get(urljoin(self.served.origin, address))
        return await self.follow(answer)

    async def follow(self, answer: httpx.Response) -> httpx.Response:
        while answer.is_redirect:
            address = urljoin(str(answer.url), answer.headers["Location"])
            answer = await self.browser.get(address)
        return answer

    async def is_in(self) -> bool:
        answer = await self.browser.get(f"{self.served.origin}/portal/account")
        return answer.status_code == 200


@asynccontextmanager
async def set_up_sign_on(
    served: ServedApplication, identity: IdentityServer, **more: Any
) -> AsyncIterator[SignOnSetup]:
    provider = IdentityProviderSettings(
        name="kontor", issuer=identity.issuer, client_id=CLIENT_ID, client_secret_file="x",
        networks=("127.0.0.1",), **more,
    )  # fmt: skip
    sign_in = SignInSettings(oidc=(provider,), groups=(GroupRule(group="admins", role="ADMIN"),))
    secrets = {provider.secret_name: CLIENT_SECRET.encode()}
    await apply_installation(served.resources, Installation(sign_in=sign_in), secrets)
    await served.installation.refresh()
    async with httpx.AsyncClient(headers={"Accept-Language": "en"}) as browser:
        yield SignOnSetup(served, identity, browser)


@pytest.fixture
async def mock(served: ServedApplication) -> AsyncIterator[SignOnSetup]:
    async with run_mock() as identity, set_up_sign_on(served, identity) as harness:
        await identity.send(claims=ERIKA)
        yield harness


@pytest.fixture
async def strict(served: ServedApplication) -> AsyncIterator[SignOnSetup]:
    scopes = ("openid", "email", "profile", "groups")
    async with (
        run_provider(served.origin) as identity,
        set_up_sign_on(served, identity, scopes=scopes) as harness,
    ):
        await identity.send(erika=ERIKA, cook={**ERIKA, "email": "c@x.org", "groups": ["cooks"]})
        yield harness


async def sign_in_there(
    harness: SignOnSetup, login: str = "erika", page: httpx.Response | None = None
) -> httpx.Response:
    """Sign in on the pages of oidc-provider and give consent. `page` is its first page, if the
    browser is already there."""
    page = page or await harness.go(START)
    while "/interaction/" in str(page.url):
        [action] = re.findall(r'<form[^>]*action="([^"]+)"', page.text)[:1]
        [prompt] = re.findall(r'name="prompt" value="(\w+)"', page.text)
        filled = {"prompt": prompt, "login": login, "password": "any"}
        address = urljoin(str(page.url), html.unescape(action))
        page = await harness.follow(await harness.browser.post(address, data=filled))
    return page


async def test_the_mock_signs_a_user_in(mock: SignOnSetup) -> None:
    page = await mock.go(START)
    assert (page.status_code, page.url.path) == (200, "/portal/merchants")
    assert "Erika" in page.text


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"}, {"nonce": None}, {"aud": "another"}, {"iss": "https://evil.example"},
        {"exp": 1_000_000_000}, {"iat": 4_000_000_000}, {"sub": None}, {"azp": "another"},
    ],
    ids=str,
)  # fmt: skip
async def test_an_invalid_token_of_the_mock_is_rejected(
    mock: SignOnSetup, claims: dict[str, Any]
) -> None:
    await mock.identity.send(claims={**ERIKA, **claims})
    page = await mock.go(START)
    assert "could not be verified" in page.text
    assert not await mock.is_in()


async def test_rotated_keys_of_the_mock_are_fetched(mock: SignOnSetup) -> None:
    await mock.go(START)
    assert await mock.is_in()
    await mock.identity.send(rotate=True)
    mock.browser.cookies.clear()
    page = await mock.go(START)
    # The keys were fetched moments ago, so they are not fetched again yet.
    assert "could not be verified" in page.text
    clock = mock.served.resources.clock
    assert isinstance(clock, MovableClock)
    clock.advance(timedelta(seconds=10))
    await mock.go(START)
    assert await mock.is_in()


async def test_groups_are_evaluated_at_each_sign_in(mock: SignOnSetup) -> None:
    await mock.go(START)
    assert await mock.is_in()
    await mock.identity.send(claims={**ERIKA, "groups": ["cooks"]})
    page = await mock.go(START)
    assert page.status_code == 403
    assert not await mock.is_in()


async def test_a_back_channel_logout_of_the_mock_ends_the_session(mock: SignOnSetup) -> None:
    await mock.go(START)
    claims = {"aud": CLIENT_ID, "sub": "erika", "jti": "j-1", "events": {LOGOUT_EVENT: {}}}
    token = (await mock.identity.send(logout=claims))["token"]
    async with httpx.AsyncClient() as provider:
        address = f"{mock.served.origin}{START}/logout"
        taken = await provider.post(address, data={"logout_token": token})
        again = await provider.post(address, data={"logout_token": token})
    assert (taken.status_code, again.status_code) == (200, 400)
    assert not await mock.is_in()


async def test_the_strict_provider_signs_a_user_in(strict: SignOnSetup) -> None:
    page = await sign_in_there(strict)
    assert (page.status_code, page.url.path) == (200, "/portal/merchants")
    async with strict.served.resources.database.connection() as connection:
        row = await connection.fetchrow("SELECT email, global_role FROM users")
    assert tuple(row or ()) == ("erika@example.org", "ADMIN")


async def test_a_user_without_a_permitted_group_cannot_sign_in(strict: SignOnSetup) -> None:
    page = await sign_in_there(strict, "cook")
    assert page.status_code == 403
    assert "none of your groups there has access to Dunwell" in page.text


async def test_an_authorization_code_works_only_once(strict: SignOnSetup) -> None:
    """The browser that started the sign-in sends the same code twice."""
    seen: list[str] = []

    async def note(request: httpx.Request) -> None:
        if "/back?" in str(request.url):
            seen.append(str(request.url))

    strict.browser.event_hooks["request"] = [note]
    await sign_in_there(strict)
    assert await strict.is_in()
    again = await strict.browser.get(seen[0])
    assert again.headers["Location"].startswith("/portal/sign-in?fault=SSO_GONE")


async def test_signing_out_at_the_provider_ends_the_session(strict: SignOnSetup) -> None:
    """Uses the displayed link, the provider's own page and its back-channel message."""
    await sign_in_there(strict)
    assert await strict.is_in()
    page = await strict.go(f"{START}/leave")
    [action] = re.findall(r'<form[^>]*action="([^"]+)"', page.text)[:1]
    [xsrf] = re.findall(r'name="xsrf" value="(\w+)"', page.text)
    filled = {"xsrf": xsrf, "logout": "yes"}
    answer = await strict.browser.post(html.unescape(action), data=filled)
    assert answer.headers["Location"] == f"{strict.served.origin}/portal/sign-in"
    assert not await strict.is_in()
    async with strict.served.resources.database.connection() as connection:
        acts = await connection.fetch("SELECT action FROM installation_audit ORDER BY audit_id")
    assert acts[-1]["action"] == "session.end_by_provider"


async def ask_to_invite(harness: SignOnSetup) -> tuple[httpx.Response, dict[str, str]]:
    """Return the response to an invitation, and the hidden fields of the confirmation page."""
    invite = f"{harness.served.origin}/portal/people/invite"
    shown = await harness.browser.get(invite)
    typed = {"name": "Paul", "email": "paul@example.org", "role": "ADMIN", "language": "en"}
    return await send(harness, {**read_hidden(shown.text), **typed})


async def send(
    harness: SignOnSetup, fields: dict[str, str]
) -> tuple[httpx.Response, dict[str, str]]:
    answer = await harness.browser.post(
        f"{harness.served.origin}/portal/people/invite", data=fields,
        headers={"Sec-Fetch-Site": "same-origin", "Origin": harness.served.origin},
    )  # fmt: skip
    return answer, read_hidden(answer.text)


@pytest.mark.parametrize(
    ("age", "expected"),
    [(0, "You have confirmed that it is you"), (600, "did not confirm"), (None, "did not confirm")],
)
async def test_a_session_is_confirmed_only_by_a_recent_auth_time(
    mock: SignOnSetup, age: int | None, expected: str
) -> None:
    await mock.go(START)
    asked, carried = await ask_to_invite(mock)
    assert "Sign in again with kontor" in asked.text
    at = None if age is None else int(datetime.now(UTC).timestamp()) - age
    await mock.identity.send(claims={**ERIKA, "auth_time": at})
    page = await mock.go("/portal/account/confirm")
    assert expected in page.text
    done, _ = await send(mock, carried)
    assert ("One-time link for Paul" in done.text) is (age == 0)
    if age != 0:
        assert "You have not signed in again yet" in done.text


async def test_the_strict_provider_asks_its_user_to_sign_in_again(strict: SignOnSetup) -> None:
    """The provider's own session would allow the user in without asking."""
    await sign_in_there(strict)
    _, carried = await ask_to_invite(strict)
    page = await strict.go("/portal/account/confirm")
    assert "/interaction/" in str(page.url)
    page = await sign_in_there(strict, page=page)
    assert "You have confirmed that it is you" in page.text
    assert (page.status_code, await strict.is_in()) == (200, True)
    done, _ = await send(strict, carried)
    assert "One-time link for" in done.text


async def test_another_user_of_the_provider_cannot_confirm_a_session(mock: SignOnSetup) -> None:
    await mock.go(START)
    _, carried = await ask_to_invite(mock)
    now = int(datetime.now(UTC).timestamp())
    await mock.identity.send(claims={**ERIKA, "sub": "paul", "auth_time": now})
    page = await mock.go("/portal/account/confirm")
    assert "Someone else is signed in with kontor" in page.text
    done, _ = await send(mock, carried)
    assert "One-time link" not in done.text
