"""A running web process follows changes of the trusted proxies and finds the visitor's address."""

import pytest
from httpx import ASGITransport, AsyncClient
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.store import list_untrusted_proxies
from dunwell.interfaces.api.edge import Edge
from dunwell.platform.resources import Resources


async def _send_client_address(scope: Scope, receive: Receive, send: Send) -> None:
    client = Request(scope).client
    await PlainTextResponse(client.host if client else "")(scope, receive, send)


async def _ask(resources: Resources, installation: CurrentInstallation, peer: str) -> str:
    app = Edge(_send_client_address, resources, installation.find_visitor)
    transport = ASGITransport(app, client=(peer, 4711))
    async with AsyncClient(transport=transport, base_url="http://dunwell") as client:
        headers = [("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-For", "203.0.113.5")]
        return (await client.get("/", headers=headers)).text


async def test_a_proxy_is_trusted_after_it_was_configured(resources: Resources) -> None:
    installation = CurrentInstallation(resources)
    await installation.refresh()
    assert await _ask(resources, installation, "10.0.0.7") == "10.0.0.7"
    await apply_installation(resources, Installation(trusted_proxies=["10.0.0.7"]))
    await installation.refresh()
    assert await _ask(resources, installation, "10.0.0.7") == "203.0.113.5"
    assert await _ask(resources, installation, "127.0.0.1") == "127.0.0.1"


async def _list_reported_proxies(resources: Resources) -> list[str]:
    async with resources.database.connection() as connection:
        return list(await list_untrusted_proxies(connection, resources.clock.now()))


async def test_an_unconfigured_proxy_is_reported_and_a_visitor_is_not(
    resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    installation = CurrentInstallation(resources)
    for peer in ("10.0.0.7", "10.0.0.7", "203.0.115.9"):
        await _ask(resources, installation, peer)
    await installation.refresh()
    assert await _list_reported_proxies(resources) == ["10.0.0.7"]
    assert capsys.readouterr().out.count("untrusted proxy forwards") == 1


async def test_trust_ends_with_the_next_revision(resources: Resources) -> None:
    installation = CurrentInstallation(resources)
    for networks in (["10.0.0.7"], []):
        await apply_installation(resources, Installation(trusted_proxies=networks))
    await installation.refresh()
    assert await _ask(resources, installation, "10.0.0.7") == "10.0.0.7"


async def test_no_proxy_is_trusted_before_the_migration(resources: Resources) -> None:
    installation = CurrentInstallation(resources)
    async with resources.database.transaction() as tx:
        await tx.execute("ALTER TABLE installation_revisions RENAME TO away")
    try:
        await installation.refresh()
    finally:
        async with resources.database.transaction() as tx:
            await tx.execute("ALTER TABLE away RENAME TO installation_revisions")
    assert not installation.is_proxy("10.0.0.7")
