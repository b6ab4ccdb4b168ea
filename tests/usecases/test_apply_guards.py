"""Contact limits and quiet hours in a merchant file: defaults, changes, and faults."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_merchant
from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_document
from tests.usecases.test_apply import ADAPTERS, FILE
from tests.usecases.test_apply_faults import write


async def apply(resources: Resources, folder: Path, **keys: Any) -> ApplyReport:
    file = write(folder, {**FILE, **keys})
    return await apply_file(resources, file, available_adapters=ADAPTERS)


async def guards_of(tx: Connection, key: str) -> Guards:
    merchant_id = await find_merchant_id_by_key(tx, key)
    assert merchant_id is not None
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None
    return merchant.configuration.guards


async def test_without_the_key_a_merchant_has_the_defaults(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path)
    async with resources.database.connection() as tx:
        assert await guards_of(tx, FILE["key"]) == Guards(1, 3, None)


async def test_guards_are_changed_and_reported_and_an_absent_key_keeps_them(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path)
    wanted = {"maxContactsPerDay": 2, "quietHours": {"from": "21:00", "to": "08:00"}}
    report = await apply(resources, tmp_path, guards=wanted)
    assert report.changes == [
        "guards.maxContactsPerDay changed: 1 -> 2", "guards.quietHours added",
    ]  # fmt: skip
    assert (await apply(resources, tmp_path, guards=wanted)).changes == []
    assert (await apply(resources, tmp_path)).changes == []
    async with resources.database.connection() as tx:
        expected = Guards(2, 3, QuietHours("21:00", "08:00"))
        assert await guards_of(tx, FILE["key"]) == expected


@pytest.mark.parametrize(
    ("guards", "path", "code"),
    [
        ({"maxContactsPerDay": 0}, "/guards/maxContactsPerDay", "TOO_SMALL"),
        ({"maxContactsPerDay": 21}, "/guards/maxContactsPerDay", "TOO_LARGE"),
        ({"maxContactsPerWeek": 51}, "/guards/maxContactsPerWeek", "TOO_LARGE"),
        ({"perDay": 1}, "/guards/perDay", "UNKNOWN_FIELD"),
        ({"quietHours": {"from": "9", "to": "10:00"}}, "/guards/quietHours/from", "WRONG_FORMAT"),
        ({"quietHours": {"from": "21:00"}}, "/guards/quietHours/to", "REQUIRED"),
        ({"quietHours": {"from": "21:00", "to": "21:00"}}, "/guards/quietHours/to", "EMPTY_HOURS"),
        ({"quietHours": {"from": "00:00", "to": "24:00"}}, "/guards/quietHours/to", "EMPTY_HOURS"),
        ({"quietHours": {"from": "08:30", "to": "18:00"}}, "/guards/quietHours", "EMPTY_HOURS"),
        ({"quietHours": {"from": "19:00", "to": "18:00"}}, "/guards/quietHours", "EMPTY_HOURS"),
    ],
)
async def test_a_wrong_guard_is_named_and_nothing_is_stored(
    resources: Resources, tmp_path: Path, guards: dict[str, Any], path: str, code: str
) -> None:
    workflows = [{"name": "Standard", "definition": a_document()}]
    assert DOCUMENT["settings"]["contactHours"]["to"] == "18:00"
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, guards=guards, workflows=workflows)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [(path, code)]
    async with resources.database.connection() as tx:
        assert await tx.fetchval("SELECT count(*) FROM merchants") == 0


@pytest.mark.parametrize("is_inline", [True, False])
async def test_a_workflow_whose_contact_hours_are_all_quiet_is_refused(
    resources: Resources, tmp_path: Path, is_inline: bool
) -> None:
    quiet = {"quietHours": {"from": "08:30", "to": "18:00"}}
    at_any_hour = {k: v for k, v in DOCUMENT["settings"].items() if k != "contactHours"}
    standing = [{"name": "Standard", "definition": a_document(settings=at_any_hour)}]
    await apply(resources, tmp_path, guards=quiet, workflows=standing)
    (tmp_path / "standard.yaml").write_bytes(msgspec.json.encode(a_document()))
    workflow = {"definition": a_document()} if is_inline else {"file": "standard.yaml"}
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, workflows=[{"name": "Standard", **workflow}])
    path = "/workflows/0/definition/settings/contactHours" if is_inline else "/workflows/0/file"
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [(path, "EMPTY_HOURS")]
    async with resources.database.connection() as tx:
        assert await tx.fetchval("SELECT count(*) FROM workflow_versions") == 1
