"""Partial payments in a merchant file: none by default, changes, and disabling."""

from pathlib import Path
from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.store import load_merchant
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.usecases.test_apply import FILE
from tests.usecases.test_apply_guards import apply


async def partial_of(tx: Connection) -> PartialPaymentSettings | None:
    merchant_id = await find_merchant_id_by_key(tx, FILE["key"])
    assert merchant_id is not None
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None
    return merchant.configuration.payment.partial


def payment(partial: Any) -> dict[str, Any]:
    return {"payment": {**FILE["payment"], "partial": partial}}


async def test_partial_payments_are_enabled_changed_kept_and_disabled(
    resources: Resources, tmp_path: Path
) -> None:
    await apply(resources, tmp_path)
    async with resources.database.connection() as tx:
        assert await partial_of(tx) is None
    await apply(resources, tmp_path, **payment({"min": "500"}))
    assert (await apply(resources, tmp_path, **payment({"min": "500"}))).changes == []
    assert (await apply(resources, tmp_path)).changes == []
    report = await apply(resources, tmp_path, **payment({"min": "700", "items": True}))
    assert report.changes == [
        'payment.partial.min changed: "500" -> "700"',
        "payment.partial.items changed: false -> true",
    ]
    async with resources.database.connection() as tx:
        assert await partial_of(tx) == PartialPaymentSettings("700", items=True)
    await apply(resources, tmp_path, **payment(None))
    async with resources.database.connection() as tx:
        assert await partial_of(tx) is None


@pytest.mark.parametrize(
    ("partial", "path", "code"),
    [
        ({}, "/payment/partial/min", "REQUIRED"),
        ({"items": False}, "/payment/partial/min", "REQUIRED"),
        ({"min": "0"}, "/payment/partial/min", "WRONG_FORMAT"),
        ({"min": 500}, "/payment/partial/min", "WRONG_TYPE"),
        ({"min": "500", "max": "900"}, "/payment/partial/max", "UNKNOWN_FIELD"),
        (True, "/payment/partial", "WRONG_TYPE"),
    ],
)
async def test_invalid_partial_payment_settings_are_refused(
    resources: Resources, tmp_path: Path, partial: Any, path: str, code: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await apply(resources, tmp_path, **payment(partial))
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [(path, code)]
