"""Dispute reasons in a merchant file: how they are stored, changes, and faults."""

from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_merchant
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.usecases.test_apply import FILE
from tests.usecases.test_apply_guards import apply

REASONS = [
    {"type": "INSOLVENCY", "hidden": True},
    {"type": "DEFECTIVE", "label": {"de": "Der Schuh drückt"}},
    {"type": "WRONG_SIZE", "label": {"de": "Falsche Größe", "en": "Wrong size"}},
]


async def load_stored_settings(resources: Resources) -> DisputeSettings:
    async with resources.database.connection() as tx:
        merchant_id = await find_merchant_id_by_key(tx, FILE["key"])
        assert merchant_id is not None
        merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        return merchant.configuration.disputes


async def test_reasons_are_hidden_renamed_and_added_and_an_absent_key_keeps_them(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path)
    assert await load_stored_settings(resources) == DisputeSettings()
    report = await apply(resources, tmp_path, disputes={"reasons": REASONS})
    assert report.changes == ["disputes.reasons changed"]
    assert (await apply(resources, tmp_path, disputes={"reasons": REASONS})).changes == []
    assert (await apply(resources, tmp_path)).changes == []
    assert await load_stored_settings(resources) == DisputeSettings(
        (
            DisputeReason("INSOLVENCY", {}, is_hidden=True),
            DisputeReason("DEFECTIVE", {"de": "Der Schuh drückt"}),
            DisputeReason("WRONG_SIZE", {"de": "Falsche Größe", "en": "Wrong size"}),
        )
    )


async def test_a_given_list_of_reasons_is_complete(resources: Resources, tmp_path: Path) -> None:
    await apply(resources, tmp_path, disputes={"reasons": REASONS})
    assert (await apply(resources, tmp_path, disputes={"reasons": []})).changes != []
    assert await load_stored_settings(resources) == DisputeSettings()


@pytest.mark.parametrize(
    ("reasons", "path", "code"),
    [
        ([{"type": "OTHER", "hidden": True}], "/0/hidden", "NOT_ALLOWED"),
        ([{"type": "NOT_MY_DEBT", "hidden": True}], "/0/hidden", "NOT_ALLOWED"),
        ([{"type": "WRONG_SIZE"}], "/0/label", "REQUIRED"),
        ([{"type": "WRONG_SIZE", "label": {"de": ""}}], "/0/label/de", "TOO_SHORT"),
        ([{"type": "WRONG_SIZE", "label": {"xx": "Size"}}], "/0/label/xx", "UNKNOWN_LANGUAGE"),
        ([{"type": "WRONG_SIZE", "label": "Size"}], "/0/label", "WRONG_TYPE"),
        ([{"type": "DEFEKTIVE", "hidden": True}], "/0/label", "REQUIRED"),
        ([{"type": "STATUE_BARRED", "label": {"en": "Too late"}}], "/0/type", "NOT_ALLOWED"),
        ([{"type": "wrong size", "label": {"en": "A"}}], "/0/type", "WRONG_FORMAT"),
        ([{"label": {"en": "A"}}], "/0/type", "REQUIRED"),
        ([{"type": "OTHER", "labels": {}}], "/0/labels", "UNKNOWN_FIELD"),
        ([{"type": "DEFECTIVE"}, {"type": "DEFECTIVE"}], "/1/type", "REPEATED"),
        ([{"type": "DEFECTIVE"}] * 51, "", "TOO_MANY"),
    ],
)
async def test_a_wrong_reason_is_named_and_nothing_is_stored(
    resources: Resources, tmp_path: Path, reasons: list[Any], path: str, code: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, disputes={"reasons": reasons})
    found = [(fault.path, fault.code) for fault in refusal.value.faults]
    assert found == [(f"/disputes/reasons{path}", code)]
    async with resources.database.connection() as tx:
        assert await tx.fetchval("SELECT count(*) FROM merchants") == 0


async def test_disputes_without_reasons_are_refused(resources: Resources, tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, disputes={})
    assert [fault.path for fault in refusal.value.faults] == ["/disputes/reasons"]


async def test_the_days_to_answer_are_set_and_default_to_ten(
    resources: Resources, tmp_path: Path
) -> None:
    report = await apply(resources, tmp_path, disputes={"reasons": [], "answerWithinDays": 5})
    assert (await load_stored_settings(resources)).answer_within_days == 5
    assert (
        await apply(resources, tmp_path, disputes={"reasons": [], "answerWithinDays": 5})
    ).changes == []
    assert report.changes != []
    await apply(resources, tmp_path, disputes={"reasons": []})
    assert (await load_stored_settings(resources)).answer_within_days == 10


@pytest.mark.parametrize("days", [0, 61, "5"])
async def test_the_days_to_answer_are_between_one_and_sixty(
    resources: Resources, tmp_path: Path, days: object
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, disputes={"reasons": [], "answerWithinDays": days})
    assert [fault.path for fault in refusal.value.faults] == ["/disputes/answerWithinDays"]
