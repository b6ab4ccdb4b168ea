"""Connections to banks in the installation file, and merchants that deliver direct debits there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation, read_secret_files
from dunwell.accounts.installation.bank_connections import BankFolder
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.installation_file import check_installation, is_installation
from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.direct_debits import CREDITOR_ID
from tests.usecases.test_apply import ADAPTERS, FILE
from tests.usecases.test_apply_faults import IBAN, write

FOLDER = {"adapter": "folder", "folder": "/srv/bank"}
SERVER: dict[str, Any] = {
    "adapter": "sftp", "server": "sftp.bank.example", "user": "shop", "keyFile": "bank.key",
    "hostKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
}  # fmt: skip


async def apply(resources: Resources, banks: Mapping[str, Any]) -> None:
    await apply_installation(resources, check_installation({"bankConnections": banks}), {})


def give_bank(name: str | None, **changes: Any) -> dict[str, Any]:
    settings = {"creditorId": "de98 zzz 0999 9999 999", "deliverTo": name}
    account = {"iban": "de02 1203 0000 0000 2020 51", "holder": "Nordwind"}
    return {**FILE, **changes, "payment": {"directDebit": {**settings, "account": account}}}


async def test_running_processes_know_the_connections(resources: Resources) -> None:
    await apply(resources, {"bank": FOLDER})
    current = CurrentInstallation(resources)
    await current.refresh()
    assert current.bank_connections == {"bank": BankFolder(folder="/srv/bank")}


def test_the_secret_file_of_a_server_is_read(tmp_path: Path) -> None:
    document = {"bankConnections": {"bank": SERVER}}
    assert is_installation(document)
    (tmp_path / "bank.key").write_text("key")
    found = read_secret_files(tmp_path / "installation.yaml", check_installation(document))
    assert found == {"bankConnections/bank/keyFile": b"key"}


@pytest.mark.parametrize(
    ("bank", "path"),
    [
        ({**SERVER, "passwordFile": "password"}, "/bank/keyFile"),
        ({**SERVER, "adapter": "ebics"}, "/bank/adapter"),
        ({"adapter": "folder"}, "/bank/folder"),
        ({**SERVER, "hostKey": "short"}, "/bank/hostKey"),
    ],
)
def test_a_faulty_connection_is_refused_with_its_path(bank: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        check_installation({"bankConnections": {"bank": bank}})
    assert [fault.path for fault in refusal.value.faults] == [f"/bankConnections{path}"]


async def test_a_merchant_delivers_only_to_a_connection_of_the_installation(
    resources: Resources, tmp_path: Path
) -> None:
    options: Any = {"available_adapters": ADAPTERS}
    with pytest.raises(ValidationError) as refusal:
        await apply_file(resources, write(tmp_path, give_bank("bnk")), **options)
    assert [(each.path, each.code) for each in refusal.value.faults] == [
        ("/payment/directDebit/deliverTo", "UNKNOWN_BANK")
    ]
    await apply(resources, {"bank": FOLDER})
    await apply_file(resources, write(tmp_path, give_bank("bank")), **options)
    assert (
        await apply_file(resources, write(tmp_path, give_bank("bank")), **options)
    ).changes == []
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, {})
    (fault,) = refusal.value.faults
    assert (fault.path, fault.code) == ("/bankConnections/bank", "IN_USE")
    assert FILE["key"] in fault.message


async def test_codes_are_stored_in_one_spelling_and_can_be_removed(
    resources: Resources, tmp_path: Path
) -> None:
    options: Any = {"available_adapters": ADAPTERS}
    await apply_file(resources, write(tmp_path, give_bank(None)), **options)
    async with resources.database.connection() as tx:
        stored = await tx.fetchval("SELECT configuration -> 'payment' FROM merchants")
    debit = stored["directDebit"]
    assert (debit["creditorId"], debit["account"]["iban"]) == (CREDITOR_ID, IBAN)
    await apply_file(
        resources, write(tmp_path, {**FILE, "payment": {"directDebit": None}}), **options
    )
    async with resources.database.connection() as tx:
        stored = await tx.fetchval("SELECT configuration -> 'payment' FROM merchants")
    assert stored["directDebit"] is None


async def test_a_sandbox_merchant_delivers_to_no_bank(resources: Resources, tmp_path: Path) -> None:
    await apply(resources, {"bank": FOLDER})
    with pytest.raises(ValidationError) as refusal:
        await apply_file(
            resources, write(tmp_path, give_bank("bank", sandbox=True)), available_adapters=ADAPTERS
        )
    assert [(each.path, each.code) for each in refusal.value.faults] == [
        ("/payment/directDebit/deliverTo", "NOT_IN_SANDBOX")
    ]


@pytest.mark.parametrize("is_sandbox", [False, True])
async def test_only_a_provider_with_mandates_collects_direct_debits(
    resources: Resources, tmp_path: Path, *, is_sandbox: bool
) -> None:
    accounts = {
        "bank": {"adapter": "gocardless", "accessTokenFile": "a", "webhookSecretFile": "b"},
        "cards": {"adapter": "stripe", "secretKeyFile": "c", "webhookSecretFile": "d"},
    }
    await apply_installation(resources, check_installation({"paymentProviders": accounts}), {})
    file = {**FILE, "sandbox": is_sandbox}
    options: Any = {"available_adapters": ADAPTERS}
    for name in ("cards", "bank"):
        payment = {**FILE["payment"], "directDebitProvider": name}
        path = write(tmp_path, {**file, "payment": payment})
        found = []
        try:
            await apply_file(resources, path, **options)
        except ValidationError as refusal:
            found = [each.code for each in refusal.faults if "Debit" in each.path]
        is_possible = name == "bank" and not is_sandbox
        code = "NOT_IN_SANDBOX" if is_sandbox else "UNKNOWN_PROVIDER"
        assert found == ([] if is_possible else [code])
