"""Doctor checks each connection to a bank for what merchants use it for."""

from pathlib import Path

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.cases.statements.store import StatementAccount
from dunwell.interfaces.cli.findings.banks import check_bank_connections
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness


async def test_the_doctor_checks_connections_as_merchants_use_them(
    resources: Resources, clock: MovableClock, postgres: EmbeddedPostgres, settings: Settings,
    tmp_path: Path,
) -> None:  # fmt: skip
    harness = await a_harness(resources, clock)
    banks = {
        name: {"adapter": "folder", "folder": str(tmp_path / name)} for name in ("used", "unused")
    }
    for name in banks:
        (tmp_path / name).mkdir()
    await apply_installation(resources, check_installation({"bankConnections": banks}), {})
    statements = StatementHarness(harness)
    account = StatementAccount("main", IBAN, "Muster GmbH", connection="used", folder="camt")
    await statements.save(account)

    async def list_findings() -> list[tuple[str, str, str]]:
        found = await check_bank_connections(postgres.url, settings)
        return [(each.mark, each.subject, each.words) for each in found]

    assert await list_findings() == [
        ("FAULT", "bank used", f"there is no folder {tmp_path}/used/camt"),
        ("ok", "bank unused", f"readable and writable in {tmp_path}/unused"),
    ]
    (tmp_path / "used" / "camt").mkdir()
    assert [mark for mark, _, _ in await list_findings()] == ["ok", "ok"]
    await apply_installation(resources, check_installation({"bankConnections": {}}), {})
    assert await list_findings() == [
        (
            "FAULT", "bank used",
            "statements are fetched there, but the installation file has no such connection",
        )
    ]  # fmt: skip
