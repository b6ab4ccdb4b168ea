"""The providers' official clients against our fake providers, and our requests against the types of
the clients. They are installed by `make servers` into an environment of their own."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

import pytest

from dunwell.accounts.installation.payment_providers import MollieAccount, StripeAccount
from dunwell.adapters.payments.mollie.provider import MollieProvider
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.platform.clock import SystemClock
from tests.adapters.api_provider_contract import REQUEST
from tests.fakes.process import parse_nested
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake
from tests.support.tools import skip_or_fail

_ROOT = Path(__file__).parents[2]
_PYTHON = _ROOT / "var/payments/bin/python"
_STRIPE = _ROOT / "var/stripe-cli/node_modules/@stripe/cli-linux-x64/bin/stripe"
_NETWORKS = ("127.0.0.1",)


def run_client(name: str, *arguments: str, given: object = None) -> None:
    """Run a program over an official client. It fails if an answer is not as the client expects."""
    if not _PYTHON.exists():
        skip_or_fail("make servers")
    command = [str(_PYTHON), str(_ROOT / f"tools/payments/{name}_client.py"), *arguments]
    answer = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=120
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "ok\n"


@pytest.fixture
def stripe() -> Iterator[FakeProviderProcess]:
    with a_fake("stripe") as fake:
        yield fake


@pytest.fixture
def mollie() -> Iterator[FakeProviderProcess]:
    with a_fake("mollie") as fake:
        yield fake


def test_stripes_client_works_with_the_fake(stripe: FakeProviderProcess) -> None:
    run_client("stripe", stripe.origin, WEBHOOK_SECRET)


def test_mollies_client_works_with_the_fake(mollie: FakeProviderProcess) -> None:
    run_client("mollie", mollie.origin)


def test_gocardless_client_works_with_the_fake() -> None:
    with a_fake("gocardless") as fake:
        run_client("gocardless", fake.origin, WEBHOOK_SECRET)


def run_stripe_cli(origin: str, folder: Path, *arguments: str) -> dict[str, Any]:
    if not _STRIPE.exists():
        skip_or_fail("make servers")
    environment = {"STRIPE_CLI_TELEMETRY_OPTOUT": "1", "HOME": str(folder)}
    answer = subprocess.run(
        [str(_STRIPE), *arguments, "--api-base", origin, "--api-key", "sk_test_1234567890"],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    shown: dict[str, Any] = json.loads(answer.stdout)
    return shown


def test_stripes_command_line_works_with_the_fake(
    stripe: FakeProviderProcess, tmp_path: Path
) -> None:
    item = "line_items[0][price_data]"
    data = {
        "success_url": "https://x.example", "line_items[0][quantity]": "1",
        f"{item}[currency]": "eur", f"{item}[unit_amount]": "990",
        f"{item}[product_data][name]": "Claim",
    }  # fmt: skip
    options = [part for name, value in data.items() for part in ("-d", f"{name}={value}")]
    created = run_stripe_cli(
        stripe.origin, tmp_path, "checkout", "sessions", "create", "--mode", "payment", *options
    )
    assert (created["object"], created["status"]) == ("checkout.session", "open")
    stripe.act(created["id"], "pay")
    path = f"/v1/checkout/sessions/{created['id']}"
    found = run_stripe_cli(stripe.origin, tmp_path, "get", path, "--expand", "payment_intent")
    assert found["payment_intent"]["status"] == "succeeded"
    charge_id = found["payment_intent"]["latest_charge"]
    refund = run_stripe_cli(
        stripe.origin, tmp_path, "refunds", "create", "--charge", charge_id, "--amount", "90"
    )
    assert (refund["object"], refund["status"]) == ("refund", "succeeded")
    listed = run_stripe_cli(stripe.origin, tmp_path, "refunds", "list", "--charge", charge_id)
    assert [each["id"] for each in listed["data"]] == [refund["id"]]


async def test_our_requests_have_the_parameters_that_stripes_client_knows(
    stripe: FakeProviderProcess,
) -> None:
    account = StripeAccount(
        secret_key_file="key", webhook_secret_file="secret",
        base_url=stripe.origin, networks=_NETWORKS,
    )  # fmt: skip
    secrets = {
        "paymentProviders/cards/secretKeyFile": b"sk_live_1",
        "paymentProviders/cards/webhookSecretFile": b"whsec_1",
    }
    adapter = StripeProvider("cards", account, secrets, SystemClock())
    request = replace(REQUEST, request_id=uuid4(), means="SEPA_DEBIT")
    checkout_id = (await adapter.open_checkout(request)).checkout_id
    await adapter.open_checkout(replace(request, language="en"))
    stripe.act(checkout_id, "pay")
    [paid] = (await adapter.fetch_checkout(checkout_id)).movements
    await adapter.refund(checkout_id, paid, 1, uuid4())
    stripe.act("", "payout")
    await adapter.list_payouts(datetime.now(UTC) - timedelta(days=1))
    await adapter.close()
    sent = stripe.take_requests()
    given = [
        (f"{each['method']} {each['path']}", parse_nested(parse_qsl(each["body"] or each["query"])))
        for each in sent
        if not each["path"].startswith("/v1/checkout/sessions/")
    ]
    assert len({name for name, _ in given}) == 7
    run_client("stripe", "--check", given=given)
    with pytest.raises(AssertionError, match="ui_modus"):
        run_client("stripe", "--check", given=[(given[0][0], {**given[0][1], "ui_modus": "x"})])


async def test_our_requests_are_accepted_by_the_models_of_mollies_client(
    mollie: FakeProviderProcess,
) -> None:
    account = MollieAccount(api_key_file="key", base_url=mollie.origin, networks=_NETWORKS)
    adapter = MollieProvider("shop", account, {"paymentProviders/shop/apiKeyFile": b"live_1"})
    request = replace(REQUEST, request_id=uuid4(), means="CARD")
    checkout_id = (await adapter.open_checkout(request)).checkout_id
    mollie.act(checkout_id, "pay")
    [paid] = (await adapter.fetch_checkout(checkout_id)).movements
    await adapter.refund(checkout_id, paid, 1, uuid4())
    await adapter.close()
    bodies = [json.loads(each["body"]) for each in mollie.take_requests() if each["body"]]
    given = [*zip(("PaymentRequest", "RefundRequest"), bodies, strict=True)]
    run_client("mollie", "--check", given=given)
    with pytest.raises(AssertionError, match="webhook"):
        run_client("mollie", "--check", given=[("PaymentRequest", {**bodies[0], "webhook": "x"})])
