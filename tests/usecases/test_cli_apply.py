"""`dunwell apply`: its output as text and JSON, and a faulty file."""

import json
from pathlib import Path

from dunwell.platform.database.database import Database
from tests.support.command_line import CommandLine

DEMO = Path(__file__).parents[2] / "examples" / "demo-merchant.yaml"


async def count_merchants(database: Database) -> int:
    async with database.connection() as connection:
        count: int = await connection.fetchval("SELECT count(*) FROM merchants")
    return count


async def test_applying_shows_secrets_once_and_the_second_time_changes_nothing(
    dunwell: CommandLine, database: Database
) -> None:
    first = json.loads(dunwell.run("apply", str(DEMO), "--json").stdout)
    assert first["changes"] != []
    assert [each["clientSecret"][:4] for each in first["credentials"]] == ["dws_"]
    second = json.loads(dunwell.run("apply", str(DEMO), "--json").stdout)
    assert second == {
        "merchantId": first["merchantId"],
        "key": first["key"],
        "changes": [],
        "credentials": [],
        "webhooks": [],
    }
    assert await count_merchants(database) == 1


async def test_a_plan_changes_nothing(dunwell: CommandLine, database: Database) -> None:
    done = dunwell.run("apply", str(DEMO), "--plan")
    assert done.returncode == 0
    assert done.stdout.startswith("Merchant ")
    assert await count_merchants(database) == 0


async def test_a_faulty_file_is_reported_with_one_line_per_fault(
    dunwell: CommandLine, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "merchant.yaml"
    file.write_text("key: shop\nname: Shop\nlanguage: 5\ncolour: red\n")
    done = dunwell.run("apply", str(file))
    assert done.returncode == 1
    assert done.stdout == ""
    assert all(line.startswith("dunwell: /") for line in done.stderr.splitlines())
    assert "dunwell: /colour: " in done.stderr
    assert "dunwell: /timezone: " in done.stderr
    assert await count_merchants(database) == 0
