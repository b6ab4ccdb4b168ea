"""Accounts at payment providers in the installation file: encrypted secrets, use by merchants, and
the adapters of a running process."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation, read_secret_files
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.installation_file import check_installation, is_installation
from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.accounts.merchants.configuration import PaymentMethod
from dunwell.adapters.installed import list_payment_provider_names
from dunwell.adapters.payment_providers import open_payment_providers
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.interfaces.cli.findings.payments import check_payment_providers
from dunwell.platform.embedded.postgres import get_database_url
from dunwell.platform.errors import Unavailable, ValidationError
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.merchants import CONFIGURATION, a_merchant
from tests.support.rows import insert_row
from tests.usecases.test_apply import FILE

STRIPE: dict[str, Any] = {
    "adapter": "stripe", "secretKeyFile": "stripe.key", "webhookSecretFile": "stripe.whsec",
}  # fmt: skip
MOLLIE: dict[str, Any] = {"adapter": "mollie", "apiKeyFile": "mollie.key"}
GOCARDLESS: dict[str, Any] = {
    "adapter": "gocardless", "accessTokenFile": "token", "webhookSecretFile": "whsec",
}  # fmt: skip
STARTED, LATER = datetime(2026, 2, 3, 8, tzinfo=UTC), datetime(2026, 9, 1, tzinfo=UTC)
KEY = "paymentProviders/cards/secretKeyFile"
WEBHOOK_SECRET = "paymentProviders/cards/webhookSecretFile"
_STORED = "SELECT name, sealed FROM installation_secrets ORDER BY name"


async def apply(
    resources: Resources, accounts: Mapping[str, Any], secrets: Mapping[str, bytes] | None = None
) -> list[str]:
    given = {KEY: b"rk_live_1", WEBHOOK_SECRET: b"whsec_1"} if secrets is None else secrets
    installation = check_installation({"paymentProviders": accounts})
    return (await apply_installation(resources, installation, given)).changes


async def use_account(resources: Resources, name: str) -> None:
    """Let a merchant be paid through an account."""
    payment = msgspec.structs.replace(CONFIGURATION.payment, methods=(PaymentMethod(name),))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=payment)
    async with resources.database.transaction() as tx:
        await a_merchant(tx, now=resources.clock.now(), configuration=configuration)


async def test_secrets_are_stored_encrypted_and_known_to_processes(resources: Resources) -> None:
    changes = await apply(resources, {"cards": STRIPE, "shop": MOLLIE})
    assert changes[1:] == [f"{KEY}: a secret, changed", f"{WEBHOOK_SECRET}: a secret, changed"]
    assert "rk_live_1" not in "".join(changes)
    async with resources.database.connection() as connection:
        stored = await connection.fetch(_STORED)
    assert [name for name, _ in stored] == [KEY, WEBHOOK_SECRET]
    assert not any(b"rk_live_1" in sealed or b"whsec_1" in sealed for _, sealed in stored)
    current = CurrentInstallation(resources)
    await current.refresh()
    assert current.secrets == {KEY: b"rk_live_1", WEBHOOK_SECRET: b"whsec_1"}
    assert current.payment_providers["cards"] == StripeAccount(
        secret_key_file="stripe.key", webhook_secret_file="stripe.whsec"
    )  # fmt: skip
    await apply(resources, {}, {})
    async with resources.database.connection() as connection:
        assert await connection.fetch(_STORED) == []


def test_secret_files_of_all_kinds_are_read(tmp_path: Path) -> None:
    document = {
        "paymentProviders": {
            "cards": STRIPE, "bank": GOCARDLESS,
            "shop": {**MOLLIE, "accessTokenFile": "organisation", "webhookSecretFile": "signing"},
        }
    }  # fmt: skip
    assert is_installation(document)
    names = [
        "stripe.key",
        "stripe.whsec",
        "mollie.key",
        "token",
        "whsec",
        "organisation",
        "signing",
    ]
    for each in names:
        (tmp_path / each).write_text(f"{each}\n")
    found = read_secret_files(tmp_path / "installation.yaml", check_installation(document))
    assert {name: value.decode() for name, value in found.items()} == {
        KEY: "stripe.key",
        WEBHOOK_SECRET: "stripe.whsec",
        "paymentProviders/bank/accessTokenFile": "token",
        "paymentProviders/bank/webhookSecretFile": "whsec",
        "paymentProviders/shop/apiKeyFile": "mollie.key",
        "paymentProviders/shop/accessTokenFile": "organisation",
        "paymentProviders/shop/webhookSecretFile": "signing",
    }


@pytest.mark.parametrize(
    ("name", "account", "path"),
    [
        ("cards", {**STRIPE, "adapter": "adyen"}, "/cards/adapter"),
        ("cards", {"adapter": "stripe", "secretKeyFile": "key"}, "/cards/webhookSecretFile"),
        ("cards", {**STRIPE, "apiKeyFile": "key"}, "/cards/apiKeyFile"),
        ("cards", {**STRIPE, "baseUrl": "api.stripe.com"}, "/cards/baseUrl"),
        ("cards", {**STRIPE, "baseUrl": "http://10.0.0.7"}, "/cards/baseUrl"),
        ("cards", {**STRIPE, "networks": ["0.0.0.0/0"]}, "/cards/networks/0"),
        ("cards", {**STRIPE, "networks": ["here"]}, "/cards/networks/0"),
        ("bank", {"adapter": "gocardless", "accessTokenFile": "token"}, "/bank/webhookSecretFile"),
        ("shop", {"adapter": "mollie"}, "/shop/apiKeyFile"),
        ("sandbox", STRIPE, "/sandbox"),
        ("bank-transfer", STRIPE, "/bank-transfer"),
        ("Cards", STRIPE, "/Cards"),
    ],
)
def test_a_faulty_account_is_refused_with_its_path(
    name: str, account: dict[str, Any], path: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        check_installation({"paymentProviders": {name: account}})
    assert [fault.path for fault in refused.value.faults] == [f"/paymentProviders{path}"]


def test_an_account_in_an_own_network_may_be_used_without_encryption() -> None:
    account = {**STRIPE, "baseUrl": "http://10.0.0.7:8080", "networks": ["10.0.0.7"]}
    check_installation({"paymentProviders": {"cards": account}})


@pytest.mark.parametrize("after", [{}, {"cards": MOLLIE}])
async def test_an_account_that_a_merchant_uses_cannot_be_removed_or_changed_to_another_kind(
    resources: Resources, after: dict[str, Any]
) -> None:
    await apply(resources, {"cards": STRIPE, "shop": MOLLIE})
    await use_account(resources, "cards")
    with pytest.raises(ValidationError) as refused:
        await apply(resources, after, {})
    [fault] = refused.value.faults
    assert (fault.path, fault.code) == ("/paymentProviders/cards", "IN_USE")
    assert "nordwind" in fault.message
    current = CurrentInstallation(resources)
    await current.refresh()
    assert (current.revision, {*current.payment_providers}) == (1, {"cards", "shop"})
    # An unused one can be removed, and the settings of a used one can be changed.
    moved = {**STRIPE, "baseUrl": "https://stripe.example"}
    await apply(resources, {"cards": moved}, {})
    await current.refresh()
    assert [*current.payment_providers] == ["cards"]


# Dates are the newest payment's or refund's.
_PENDING: dict[str, tuple[str, dict[str, Any], str]] = {
    "a payment that can still be charged back": (
        "payment_requests",
        {"state": "COMPLETED", "next_check_at": LATER, "created_at": STARTED},
        "sent yet: 0. Mandates of debtors: 0. The newest of them is of 2026-02-03.",
    ),
    "an open checkout": (
        "payment_requests",
        {"state": "OPEN", "next_check_at": LATER, "created_at": STARTED},
        "after they were made: 1. Refunds that are not sent yet: 0.",
    ),
    "a refund that was not sent yet": (
        "payment_refunds",
        {
            "state": "CREATED", "effect": "REOPEN", "next_attempt_at": LATER,
            "created_at": STARTED,
        },
        "sent yet: 1. Mandates of debtors: 0. The newest of them is of 2026-02-03.",
    ),
    "a mandate with which debts are collected": (
        "provider_mandates",
        {"state": "ACTIVE", "provider_mandate_id": "MD1", "created_at": STARTED},
        "sent yet: 0. Mandates of debtors: 1. The newest of them is of 2026-02-03.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", [*_PENDING])
@pytest.mark.parametrize("after", [{}, {"cards": MOLLIE}])
async def test_an_account_that_payments_or_refunds_need_cannot_be_removed(
    resources: Resources, case: str, after: dict[str, Any]
) -> None:
    table, values, message = _PENDING[case]
    await apply(resources, {"cards": STRIPE})
    async with resources.database.transaction() as tx:
        await insert_row(tx, table, 1, provider="cards", **values)
    with pytest.raises(ValidationError) as refused:
        await apply(resources, after, {})
    [fault] = refused.value.faults
    assert (fault.path, fault.code) == ("/paymentProviders/cards", "IN_USE")
    assert message in fault.message
    assert "Keep it in the file until then." in fault.message
    # Other settings of the account can be changed.
    await apply(resources, {"cards": {**STRIPE, "baseUrl": "https://stripe.example"}})
    ends = {
        "payment_requests": "next_check_at = NULL",
        "payment_refunds": "next_attempt_at = NULL",
        "provider_mandates": "state = 'ENDED'",
    }
    async with resources.database.transaction() as tx:
        await tx.execute(f"UPDATE {table} SET {ends[table]}")
    await apply(resources, after, {})


async def test_the_doctor_names_an_account_that_is_missing_although_it_is_needed(
    resources: Resources,
) -> None:
    url = get_database_url(resources.settings)
    assert await check_payment_providers(url, resources.settings) == []
    async with resources.database.transaction() as tx:
        for provider in ("cards", "sandbox"):
            await insert_row(
                tx, "payment_requests", 1, provider=provider, state="OPEN",
                request_id=uuid4(), next_check_at=LATER, created_at=STARTED,
            )  # fmt: skip
    [finding] = await check_payment_providers(url, resources.settings)
    assert (finding.subject, finding.is_fault) == ("payments cards", True)
    assert finding.words.startswith("The account is not in the installation file. It is still")


async def test_the_doctor_describes_a_closed_account_and_finds_no_fault(
    resources: Resources,
) -> None:
    """Nothing listens at its address, as if its key had been revoked."""
    closed = {
        **STRIPE, "baseUrl": "http://127.0.0.1:1", "networks": ["127.0.0.1"], "closed": True,
    }  # fmt: skip
    await apply(resources, {"cards": closed})
    await use_account(resources, "cards")
    url = get_database_url(resources.settings)
    [finding] = await check_payment_providers(url, resources.settings)
    assert re.search(r"\w\. Merchants that still name it", finding.words)
    async with resources.database.transaction() as tx:
        await insert_row(
            tx, "payment_requests", 1, provider="cards", state="COMPLETED",
            request_id=uuid4(), next_check_at=LATER, created_at=STARTED,
        )  # fmt: skip
    [finding] = await check_payment_providers(url, resources.settings)
    assert (finding.subject, finding.mark) == ("payments cards", "note")
    assert "the account is closed" in finding.words
    assert "can no longer be read" in finding.words
    assert "after they were made: 1." in finding.words
    assert finding.words.endswith("nordwind")


async def test_a_running_process_follows_the_installation_file(resources: Resources) -> None:
    current = CurrentInstallation(resources)
    async with open_payment_providers(resources, current) as providers:
        with pytest.raises(Unavailable):
            providers.get("cards")
        assert not providers["sandbox"].moves_money
        await current.refresh()
        assert [*providers] == ["sandbox"]
        await apply(resources, {"cards": STRIPE, "shop": MOLLIE})
        await current.refresh()
        # The key of "shop" was never given, so that it cannot be used.
        assert [*providers] == ["sandbox", "cards"]
        first = providers["cards"]
        assert isinstance(first, StripeProvider)
        assert (first.name, first.kind, first.moves_money) == ("cards", "STRIPE", True)
        assert providers["cards"] is first
        await apply(resources, {"cards": STRIPE, "shop": MOLLIE}, {KEY: b"rk_test_2"})
        await current.refresh()
        assert not providers["cards"].moves_money
        assert providers.page_sources["cards"] == "https:"
        await apply(resources, {}, {})
        await current.refresh()
        assert [*providers] == ["sandbox"]
        assert "cards" not in providers


def test_the_names_of_providers_are_known_without_their_secrets() -> None:
    installation = check_installation({"paymentProviders": {"cards": STRIPE, "shop": MOLLIE}})
    assert list_payment_provider_names(installation) == {"sandbox", "cards", "shop"}


def test_the_command_line_checks_the_providers_of_a_merchant_file(
    dunwell: CommandLine, tmp_path: Path
) -> None:
    installation, merchant = tmp_path / "installation.yaml", tmp_path / "merchant.yaml"
    methods = {"methods": [{"provider": "cards"}]}
    merchant.write_bytes(msgspec.yaml.encode({**FILE, "payment": methods, "workflows": []}))
    refused = dunwell.run("apply", str(merchant), "--plan")
    assert 'There is no payment provider "cards"' in refused.stderr
    installation.write_bytes(msgspec.yaml.encode({"paymentProviders": {"cards": STRIPE}}))
    (tmp_path / "stripe.key").write_text("rk_live_1\n")
    (tmp_path / "stripe.whsec").write_text("whsec_1\n")
    applied = dunwell.run("apply", str(installation))
    assert applied.returncode == 0
    assert "rk_live_1" not in applied.stdout + applied.stderr
    assert "payment provider" not in dunwell.run("apply", str(merchant), "--plan").stderr
