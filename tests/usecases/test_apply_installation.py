"""`dunwell apply installation.yaml`: what it changes, keeps, and refuses."""

from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation, plan_installation
from dunwell.accounts.installation.installation_file import (
    Installation,
    check_installation,
    is_installation,
)
from dunwell.accounts.installation.store import (
    InstallationRevision,
    load_installation,
    save_installation,
)
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.operators import AGENCY, AGENCY_DOCUMENT, OWN

_ONE = Installation(trusted_proxies=["10.0.0.7"])
_TWO = Installation(trusted_proxies=["10.0.0.7", "fd00::/64"])


async def _load(resources: Resources) -> InstallationRevision:
    async with resources.database.connection() as connection:
        return await load_installation(connection)


async def test_an_installation_file_is_stored_and_applying_it_again_changes_nothing(
    resources: Resources,
) -> None:
    first = await apply_installation(resources, _ONE)
    again = await apply_installation(resources, _ONE)
    assert (first.revision, first.changes) == (1, ["trustedProxies: none -> 10.0.0.7"])
    assert (again.revision, again.changes) == (1, [])
    assert await _load(resources) == InstallationRevision(1, _ONE)


async def test_an_operator_is_stored_and_each_change_reported(resources: Resources) -> None:
    first = await apply_installation(resources, Installation(operator=OWN))
    second = await apply_installation(resources, check_installation({"operator": AGENCY_DOCUMENT}))
    [one], [other] = first.changes, second.changes
    assert one.startswith("operator: none -> (role: OWN, legal: (name: Kontor Inkasso GmbH, ")
    assert "registration: (number: 2026/01-INK" in other
    assert (await _load(resources)).installation.operator == AGENCY


async def test_a_plan_changes_nothing(resources: Resources) -> None:
    await apply_installation(resources, _ONE)
    planned = await plan_installation(resources, _TWO)
    assert planned.changes == ["trustedProxies: 10.0.0.7 -> 10.0.0.7, fd00::/64"]
    assert await _load(resources) == InstallationRevision(1, _ONE)


async def test_absent_keys_change_nothing(resources: Resources) -> None:
    await apply_installation(resources, _ONE)
    assert (await apply_installation(resources, Installation())).changes == []
    assert (await _load(resources)).installation == _ONE
    await apply_installation(resources, Installation(trusted_proxies=[]))
    assert (await _load(resources)).installation == Installation(trusted_proxies=[])


async def test_a_concurrent_change_is_refused(resources: Resources) -> None:
    await apply_installation(resources, _ONE)
    async with resources.database.transaction() as tx:
        late = InstallationRevision(1, _TWO)
        now = resources.clock.now()
        assert not await save_installation(tx, late, applied_at=now, applied_by="another")
    assert (await _load(resources)).installation == _ONE


def _open(*networks: str, **given: str) -> dict[str, Any]:
    return {"webhookNetworks": [{"merchant": "nordwind", "networks": list(networks), **given}]}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"trustedProxies": ["10.0.0.300"]}, "/trustedProxies/0"),
        ({"operator": AGENCY_DOCUMENT | {"role": "BANK"}}, "/operator/role"),
        ({"operator": AGENCY_DOCUMENT | {"contact": {"email": "x"}}}, "/operator/contact/email"),
        (
            {"operator": AGENCY_DOCUMENT | {"legal": {"name": "K", "address": "H"}}},
            "/operator/legal/representatives",
        ),
        ({"trustedProxies": ["10.0.0.7", "0.0.0.0/0"]}, "/trustedProxies/1"),
        ({"trustedProxies": ["::/0"]}, "/trustedProxies/0"),
        ({"trustedProxies": ["10.0.0.7/24"]}, "/trustedProxies/0"),
        ({"trustedProxies": [7]}, "/trustedProxies/0"),
        (_open(), "/webhookNetworks/0/networks"),
        (_open("10.0.0.0/8", tls="NONE"), "/webhookNetworks/0/tls"),
        (_open("10.0.0.7/24"), "/webhookNetworks/0/networks/0"),
        (_open("10.0.0.0/8", "erp.example"), "/webhookNetworks/0/networks/1"),
        (_open("0.0.0.0/0"), "/webhookNetworks/0/networks/0"),
        (_open("128.0.0.0/1"), "/webhookNetworks/0/networks/0"),
        (_open("169.254.169.254"), "/webhookNetworks/0/networks/0"),
        (_open("::/0"), "/webhookNetworks/0/networks/0"),
        (_open("::ffff:10.0.0.0/104"), "/webhookNetworks/0/networks/0"),
        (_open("64:ff9b::/96"), "/webhookNetworks/0/networks/0"),
        (_open("2002:a00::/24"), "/webhookNetworks/0/networks/0"),
        (_open("fe80::/64"), "/webhookNetworks/0/networks/0"),
        (_open("fd00::/8"), "/webhookNetworks/0/networks/0"),
        (
            {"webhookNetworks": _open("10.0.0.0/8")["webhookNetworks"] * 2},
            "/webhookNetworks/1/merchant",
        ),
        ({"trustedProxies": "10.0.0.7"}, "/trustedProxies"),
        ({"trustedProxies": [], "trustedProxy": []}, "/trustedProxy"),
    ],
)
def test_a_faulty_file_is_refused_with_the_path(document: object, path: str) -> None:
    with pytest.raises(ValidationError) as refused:
        check_installation(document)
    assert [fault.path for fault in refused.value.faults] == [path]


def test_a_merchant_file_is_not_taken_for_an_installation_file() -> None:
    assert is_installation({"trustedProxies": []})
    assert not is_installation({"key": "nordwind", "trustedProxies": []})
    assert not is_installation({"name": "Nordwind"})
    assert not is_installation(None)


def test_the_command_line_applies_an_installation_file(
    dunwell: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "installation.yaml"
    path.write_text("trustedProxies: [10.0.0.7]\n")
    planned = dunwell.run("apply", str(path), "--plan")
    assert planned.stdout == "Installation (revision 0)\n  trustedProxies: none -> 10.0.0.7\n"
    applied = dunwell.run("apply", str(path))
    assert applied.stdout == "Installation (revision 1)\n  trustedProxies: none -> 10.0.0.7\n"
    path.write_text("trustedProxies: [10.0.0.0/0]\n")
    assert dunwell.run("apply", str(path)).returncode == 1
