"""Payment plans and deferments in a merchant file: none by default, changes, and faults."""

from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import (
    DeferralSettings,
    ModalitySettings,
    PlanSettings,
)
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_merchant
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.usecases.test_apply import FILE
from tests.usecases.test_apply_guards import apply

PLAN = {"counts": [6, 2, 3], "minRate": "1000", "firstDateWithinDays": 21, "autoApprove": True}


async def modalities_of(tx: Connection) -> ModalitySettings:
    merchant_id = await find_merchant_id_by_key(tx, FILE["key"])
    assert merchant_id is not None
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None
    return merchant.configuration.modalities


async def test_without_the_key_nothing_is_offered(resources: Resources, tmp_path: Path) -> None:
    await apply(resources, tmp_path)
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings()


async def test_the_file_sets_changes_and_keeps_offers(resources: Resources, tmp_path: Path) -> None:
    wanted = {"plan": PLAN, "deferment": {"maxDays": 30}}
    await apply(resources, tmp_path, modalities=wanted)
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings(
            PlanSettings((2, 3, 6), "1000", 21, auto_approve=True), DeferralSettings(30)
        )
    assert (await apply(resources, tmp_path, modalities=wanted)).changes == []
    assert (await apply(resources, tmp_path)).changes == []
    wanted["deferment"] = {"maxDays": 14}
    report = await apply(resources, tmp_path, modalities=wanted)
    assert report.changes == ["modalities.deferment.maxDays changed: 30 -> 14"]


async def test_an_omitted_offer_is_removed(resources: Resources, tmp_path: Path) -> None:
    await apply(resources, tmp_path, modalities={"plan": {"counts": [2]}})
    await apply(resources, tmp_path, modalities={"deferment": {"maxDays": 30, "autoApprove": True}})
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings(
            None, DeferralSettings(30, auto_approve=True)
        )
    await apply(resources, tmp_path, modalities={})
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings()


async def test_the_maximum_pause_is_set_and_has_a_default(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path, modalities={"pauseDays": 21})
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings(pause_days=21)
    report = await apply(resources, tmp_path, modalities={})
    assert report.changes == ["modalities.pauseDays changed: 21 -> 14"]
    async with resources.database.connection() as tx:
        assert await modalities_of(tx) == ModalitySettings(pause_days=14)


async def test_the_days_to_answer_requests_are_set_and_have_a_default(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path, modalities={"answerWithinDays": 5})
    async with resources.database.connection() as tx:
        assert (await modalities_of(tx)).answer_within_days == 5
    report = await apply(resources, tmp_path, modalities={})
    assert report.changes == ["modalities.answerWithinDays changed: 5 -> 3"]
    async with resources.database.connection() as tx:
        assert (await modalities_of(tx)).answer_within_days == 3


@pytest.mark.parametrize(
    ("modalities", "path", "code"),
    [
        ({"plan": {}}, "/modalities/plan/counts", "REQUIRED"),
        ({"plan": {"counts": []}}, "/modalities/plan/counts", "REQUIRED"),
        ({"plan": {"counts": [1]}}, "/modalities/plan/counts/0", "TOO_SMALL"),
        ({"plan": {"counts": [37]}}, "/modalities/plan/counts/0", "TOO_LARGE"),
        ({"plan": {"counts": [2, 2]}}, "/modalities/plan/counts/1", "REPEATED"),
        ({"plan": {"minRate": 1000}}, "/modalities/plan/minRate", "WRONG_TYPE"),
        ({"plan": {"minRate": "10.00"}}, "/modalities/plan/minRate", "WRONG_FORMAT"),
        (
            {"plan": {"counts": [2], "firstDateWithinDays": 0}},
            "/modalities/plan/firstDateWithinDays", "TOO_SMALL",
        ),
        ({"plan": {"counts": [2], "auto": True}}, "/modalities/plan/auto", "UNKNOWN_FIELD"),
        ({"deferment": {}}, "/modalities/deferment/maxDays", "REQUIRED"),
        ({"deferment": {"maxDays": 366}}, "/modalities/deferment/maxDays", "TOO_LARGE"),
        ({"pauseDays": 61}, "/modalities/pauseDays", "TOO_LARGE"),
        ({"pauseDays": -1}, "/modalities/pauseDays", "TOO_SMALL"),
        ({"answerWithinDays": 61}, "/modalities/answerWithinDays", "TOO_LARGE"),
        ({"answerWithinDays": 0}, "/modalities/answerWithinDays", "TOO_SMALL"),
        ({"deferral": {}}, "/modalities/deferral", "UNKNOWN_FIELD"),
    ],
)  # fmt: skip
async def test_a_wrong_offer_is_named_and_nothing_is_stored(
    resources: Resources, tmp_path: Path, modalities: dict[str, Any], path: str, code: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, modalities=modalities)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [(path, code)]
    async with resources.database.connection() as tx:
        assert await tx.fetchval("SELECT count(*) FROM merchants") == 0
