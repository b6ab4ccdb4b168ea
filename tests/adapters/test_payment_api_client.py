"""Requests to the APIs of payment providers: where they may go, what is read of an answer, and the
findings of `dunwell doctor`."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import web

from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.adapters.payments.api_client import AccessProbe, ApiClient
from dunwell.cases.payments.provider import PaymentProviderRefused, PaymentProviderUnavailable
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.interfaces.cli.findings.payments import check_payment_provider
from tests.support.fake_providers import a_fake
from tests.support.receiver import Receiver, a_receiver

LOOPBACK = ("127.0.0.1",)
SECRETS = {
    "paymentProviders/cards/secretKeyFile": b"rk_live_1",
    "paymentProviders/cards/webhookSecretFile": b"whsec_1",
}


class Answer(msgspec.Struct):
    number: int = 0
    following: str | None = None


class Script:
    """Answers with what a test sets."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b'{"number": 7}'
        self.headers: dict[str, str] = {}

    async def answer(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=self.status, body=self.body, headers=self.headers)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def server(script: Script) -> AsyncIterator[Receiver]:
    async with a_receiver(script.answer) as receiver:
        yield receiver


def build(server: Receiver, networks: tuple[str, ...] = LOOPBACK, **options: Any) -> ApiClient:
    options = {"wait_seconds": (), "parse_reason": lambda body: body.decode(), **options}
    return ApiClient("cards", server.url, networks, {"Authorization": "Bearer x"}, **options)


@pytest.fixture
async def client(server: Receiver) -> AsyncIterator[ApiClient]:
    client = build(server)
    yield client
    await client.close()


async def test_addresses_outside_the_allowed_networks_are_not_called(server: Receiver) -> None:
    for networks in ((), ("10.0.0.0/8",)):
        client = build(server, networks)
        with pytest.raises(PaymentProviderUnavailable, match="address not allowed"):
            await client.get("/x", Answer)
        await client.close()
    assert server.received == []


@pytest.mark.parametrize("status", [301, 302, 204, 304, 418, 429, 500, 503])
async def test_a_response_with_a_status_other_than_200_or_201_is_not_read(
    client: ApiClient, server: Receiver, script: Script, status: int
) -> None:
    script.status, script.headers = status, {"Location": "/elsewhere"}
    with pytest.raises(PaymentProviderUnavailable):
        await client.get("/x", Answer)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"<html>", b'{"number": "7"}', b'{"number": 7.5}', b'{"number": null}',
        b"[" * 100_000, b'{"number": 7, "x": ' + b"[" * 100_000, b"7", b'{"number": 7',
        b'{"number": ' + b"9" * 5_000 + b"}", b'{"number": 7, "x": "' + b"y" * 5_000_000 + b'"}',
    ],
    ids=range(12),
)  # fmt: skip
async def test_an_answer_of_another_shape_or_size_is_not_read(
    client: ApiClient, script: Script, body: bytes
) -> None:
    script.body = body
    with pytest.raises(PaymentProviderUnavailable):
        await client.get("/x", Answer)


async def test_a_refusal_has_the_providers_reason_without_control_characters(
    client: ApiClient, script: Script
) -> None:
    script.status, script.body = 422, "Nicht \x1b[31möglich\n".encode() + b"x" * 500
    response = await client.send("POST", "/x", {}, b"{}")
    with pytest.raises(PaymentProviderRefused) as refused:
        client.parse(response, Answer)
    assert refused.value.message.startswith("The payment provider refused: Nicht [31möglichxxx")
    assert len(refused.value.message) == len("The payment provider refused: ") + 200
    # A GET never raises PaymentProviderRefused: its caller asks again later.
    with pytest.raises(PaymentProviderUnavailable):
        await client.get("/x", Answer)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_rejected_key_makes_the_provider_unavailable(
    client: ApiClient, script: Script, status: int
) -> None:
    script.status = status
    with pytest.raises(PaymentProviderUnavailable, match="does not accept the key"):
        client.parse(await client.send("POST", "/x", {}, b"{}"), Answer)


async def test_only_conflicts_and_server_errors_are_retried(
    server: Receiver, script: Script
) -> None:
    client = build(server, wait_seconds=(0.0, 0.0))
    for status, attempts in ((503, 3), (409, 3), (422, 1), (429, 1), (200, 1)):
        script.status = status
        server.received.clear()
        try:
            await client.send("POST", "/x", {"Idempotency-Key": "k"}, b"{}")
        except PaymentProviderUnavailable:
            # With 409 the key is in use: it is unknown whether its first request will succeed.
            assert status in (503, 409, 429)
        else:
            assert status in (422, 200)
        assert len(server.received) == attempts, status
    await client.close()


async def test_a_list_without_an_end_is_not_read(
    client: ApiClient, server: Receiver, script: Script
) -> None:
    script.body = b'{"following": "/x?page=2"}'
    with pytest.raises(PaymentProviderUnavailable, match="list is too long"):
        await client.list_pages("/x", Answer, lambda page: page.following)
    assert len(server.received) == 50


async def test_a_payment_page_needs_https_unless_its_network_is_allowed(server: Receiver) -> None:
    abroad = build(server, ())
    assert abroad.check_page_url("https://pay.example/1") == "https://pay.example/1"
    with pytest.raises(PaymentProviderUnavailable):
        abroad.check_page_url("http://pay.example/1")
    assert build(server).check_page_url("http://127.0.0.1/1") == "http://127.0.0.1/1"


async def test_a_server_that_is_no_payment_provider_is_reported(
    client: ApiClient, script: Script
) -> None:
    script.status = 404
    probes = [AccessProbe("Payments: read", "GET", "/x"), AccessProbe("write", "POST", "/x", b"")]
    assert await client.list_missing_permissions(probes, {}) == [
        'The provider answers with status 404 instead of 200 when "Payments: read" is tested.'
    ]


async def test_the_doctor_names_each_missing_permission() -> None:
    with a_fake("stripe") as fake:
        account = StripeAccount(
            secret_key_file="key", webhook_secret_file="secret",
            base_url=fake.origin, networks=LOOPBACK,
        )  # fmt: skip
        [found] = await check_payment_provider("cards", account, SECRETS)
        assert (found.mark, found.words) == (
            "ok", "the provider responds, and the key has every permission",
        )  # fmt: skip
        fake.call("permissions", missing=["Payouts: read", "Checkout Sessions: write"])
        findings = await check_payment_provider("cards", account, SECRETS)
        assert [(each.mark, each.words) for each in findings] == [
            ("FAULT", 'The key lacks the permission "Payouts: read"'),
            ("FAULT", 'The key lacks the permission "Checkout Sessions: write"'),
        ]
        fake.repair()
        test_key = {**SECRETS, "paymentProviders/cards/secretKeyFile": b"rk_test_1"}
        [found] = await check_payment_provider("cards", account, test_key)
        assert (found.mark, found.subject) == ("note", "payments cards")
        [found] = await check_payment_provider("cards", account, {})
        assert isinstance(found, DoctorFinding)
        assert (found.mark, found.remedy) == ("FAULT", "Run: dunwell apply FILE")
    [found] = await check_payment_provider("cards", account, SECRETS)
    assert found.words.startswith("The payment provider gives no usable answer: no connection")
