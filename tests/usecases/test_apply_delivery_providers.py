"""Delivery providers in the installation file: encrypted secrets, and use by merchants."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import (
    apply_installation,
    plan_installation,
    read_secret_files,
)
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.installation_file import check_installation, is_installation
from dunwell.accounts.installation.store import load_secrets
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.keys import list_columns
from tests.support.merchants import CONFIGURATION, a_merchant
from tests.usecases.test_apply import ADAPTERS, FILE, PROVIDERS
from tests.usecases.test_apply_faults import write

SMTP_PROVIDER: dict[str, Any] = {
    "channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587",
    "credentials": {"user": "dunwell", "passwordFile": "smtp"},
}  # fmt: skip
NAME = "deliveryProviders/post/credentials/passwordFile"
_STORED = "SELECT name, sealed FROM installation_secrets"


async def apply(
    resources: Resources, providers: Mapping[str, Any], secret: bytes | None = b"s3cret"
) -> list[str]:
    secrets = {} if secret is None else {NAME: secret}
    installation = check_installation({"deliveryProviders": providers})
    return (await apply_installation(resources, installation, secrets)).changes


async def load_stored_secrets(resources: Resources) -> dict[str, bytes]:
    async with resources.database.connection() as connection:
        return await load_secrets(connection, resources.keys)


async def test_a_secret_is_stored_encrypted_and_known_to_processes(resources: Resources) -> None:
    provider, secret = await apply(resources, {"post": SMTP_PROVIDER})
    assert "post" in provider
    assert secret == f"{NAME}: a secret, changed"
    async with resources.database.connection() as connection:
        [(name, sealed)] = await connection.fetch(_STORED)
    assert name == NAME
    assert b"s3cret" not in sealed
    current = CurrentInstallation(resources)
    await current.refresh()
    assert current.secrets == {NAME: b"s3cret"}
    assert current.delivery_providers["post"].channel == "EMAIL"


async def test_only_a_changed_secret_makes_a_new_revision(resources: Resources) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    current = CurrentInstallation(resources)
    await current.refresh()
    assert await apply(resources, {"post": SMTP_PROVIDER}) == []
    installation = check_installation({"deliveryProviders": {"post": SMTP_PROVIDER}})
    planned = await plan_installation(resources, installation, {NAME: b"new"})
    assert planned.changes == [f"{NAME}: a secret, changed"]
    assert await apply(resources, {"post": SMTP_PROVIDER}, b"new") == [f"{NAME}: a secret, changed"]
    await current.refresh()
    assert (current.revision, current.secrets) == (2, {NAME: b"new"})


async def test_a_secret_is_deleted_with_its_provider(resources: Resources) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    await apply(resources, {}, None)
    assert await load_stored_secrets(resources) == {}


async def test_a_secret_is_reencrypted_with_a_new_key(resources: Resources) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    older = resources.settings.secret_key
    newer = KeyRing({2: b"n" * 32, **older})
    [values] = list_columns("installation_secrets")
    assert (await values.reseal(resources.database, newer, values.beginning)).resealed == 1
    assert (await values.reseal(resources.database, newer, values.beginning)).resealed == 0
    async with resources.database.transaction() as tx:
        assert await values.count(tx) == {2: 1}
        assert await load_secrets(tx, newer) == {NAME: b"s3cret"}
        assert await load_secrets(tx, resources.keys) == {}


@pytest.mark.parametrize(
    "after", [{}, {"post": {**SMTP_PROVIDER, "channel": "SMS", "adapter": "twilio"}}]
)
async def test_a_provider_that_a_merchant_uses_cannot_be_removed(
    resources: Resources, after: dict[str, Any]
) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    setups: Any = {"EMAIL": ChannelSetup(provider="post", sender="claims@nordwind.example")}
    async with resources.database.transaction() as tx:
        configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
        await a_merchant(tx, now=resources.clock.now(), configuration=configuration)
    if after:
        after["post"].pop("server")
    with pytest.raises(ValidationError) as refused:
        await apply(resources, after, None)
    [fault] = refused.value.faults
    assert (fault.path, fault.code) == ("/deliveryProviders/post", "IN_USE")
    assert await load_stored_secrets(resources) == {NAME: b"s3cret"}


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ({**SMTP_PROVIDER, "channel": "SMS"}, "/deliveryProviders/post/channel"),
        ({**SMTP_PROVIDER, "adapter": "fax"}, "/deliveryProviders/post/adapter"),
        ({**SMTP_PROVIDER, "encryption": "NONE"}, "/deliveryProviders/post/encryption"),
        ({**SMTP_PROVIDER, "server": "mail example"}, "/deliveryProviders/post/server"),
        ({**SMTP_PROVIDER, "pace": {"atOnce": 0}}, "/deliveryProviders/post/pace/atOnce"),
        ({**SMTP_PROVIDER, "prices": {"de": 7}}, "/deliveryProviders/post/prices/de"),
        (
            {
                **SMTP_PROVIDER,
                "mailbox": {"server": "m:993", "credentials": SMTP_PROVIDER["credentials"]},
            },
            "/deliveryProviders/post/returnDomain",
        ),
        ({"channel": "EMAIL", "adapter": "smtp"}, "/deliveryProviders/post/server"),
    ],
)
def test_a_faulty_provider_is_refused_with_its_path(provider: dict[str, Any], path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        check_installation({"deliveryProviders": {"post": provider}})
    assert [fault.path for fault in refused.value.faults] == [path]


@pytest.mark.parametrize(
    ("document", "path", "new_name"),
    [
        ({"lines": {"post": SMTP_PROVIDER}}, "/lines", "deliveryProviders"),
        ({"alarms": {"email": ["ops@example.com"]}}, "/alarms", "alerts"),
        ({"alerts": {"line": "post"}}, "/alerts/line", "provider"),
    ],
)
def test_an_old_key_of_the_installation_file_is_refused_with_its_new_name(
    document: dict[str, Any], path: str, new_name: str
) -> None:
    assert is_installation(document)
    with pytest.raises(ValidationError) as refused:
        check_installation(document)
    message = f'"{path.rpartition("/")[2]}" is not a key. Use "{new_name}" instead.'
    assert refused.value.faults == [Fault(path, message, "UNKNOWN_FIELD")]


def test_secrets_are_read_from_files_next_to_the_installation_file(tmp_path: Path) -> None:
    installation = check_installation({"deliveryProviders": {"post": SMTP_PROVIDER}})
    file = tmp_path / "installation.yaml"
    with pytest.raises(ValidationError) as refused:
        read_secret_files(file, installation)
    assert [(each.path, each.code) for each in refused.value.faults] == [(f"/{NAME}", "UNREADABLE")]
    for content, code in ((b"\n", "INVALID"), (b"x" * 64_001, "INVALID")):
        (tmp_path / "smtp").write_bytes(content)
        with pytest.raises(ValidationError) as refused:
            read_secret_files(file, installation)
        assert [each.code for each in refused.value.faults] == [code]
    (tmp_path / "smtp").write_bytes(b"s3cret\r\n")
    assert read_secret_files(file, installation) == {NAME: b"s3cret"}


def test_the_command_line_applies_a_provider_without_showing_its_secret(
    dunwell: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "installation.yaml"
    path.write_bytes(msgspec.yaml.encode({"deliveryProviders": {"post": SMTP_PROVIDER}}))
    assert "smtp cannot be read" in dunwell.run("apply", str(path)).stderr
    (tmp_path / "smtp").write_text("s3cret\n")
    applied = dunwell.run("apply", str(path))
    assert applied.returncode == 0
    assert f"{NAME}: a secret, changed" in applied.stdout
    assert "s3cret" not in applied.stdout + applied.stderr


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ("EMAIL", "The installation file's delivery providers for EMAIL are: post."),
        (
            "SMS",
            "The installation file has no delivery provider for SMS; add one and apply it first.",
        ),
    ],
)
async def test_a_merchant_cannot_use_an_unknown_provider(
    resources: Resources, tmp_path: Path, channel: str, says: str
) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    sender = {"EMAIL": "claims@nordwind.example", "SMS": "Nordwind"}[channel]
    setup = {channel: {"provider": "psot", "from": sender}}
    with pytest.raises(ValidationError) as refused:
        await apply_merchant(resources, tmp_path, setup)
    [fault] = refused.value.faults
    assert (fault.path, fault.code, fault.message) == (
        f"/channels/{channel}/provider", "UNKNOWN_LINE", says,
    )  # fmt: skip


async def test_changing_a_channel_to_a_provider_is_reported(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    by_outbox = {"EMAIL": {"adapter": "outbox", "from": "claims@nordwind.example"}}
    await apply_merchant(resources, tmp_path, by_outbox)
    by_provider = {"EMAIL": {"provider": "post", "from": "claims@nordwind.example"}}
    assert await apply_merchant(resources, tmp_path, by_provider) == [
        "channels.EMAIL.adapter removed", 'channels.EMAIL.provider added: "post"',
    ]  # fmt: skip
    assert await apply_merchant(resources, tmp_path, by_provider) == []


async def test_a_sandbox_merchant_cannot_use_a_provider(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, {"post": SMTP_PROVIDER})
    setup = {"EMAIL": {"provider": "post", "from": "claims@nordwind.example"}}
    with pytest.raises(ValidationError) as refused:
        await apply_merchant(resources, tmp_path, setup, sandbox=True)
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/channels/EMAIL/provider", "NOT_IN_SANDBOX")
    ]


async def apply_merchant(
    resources: Resources, folder: Path, channels: Mapping[str, Any], **changes: Any
) -> list[str]:
    file = write(folder, {**FILE, "channels": channels, **changes})
    report = await apply_file(
        resources, file, available_adapters=ADAPTERS, available_providers=PROVIDERS
    )
    return report.changes
