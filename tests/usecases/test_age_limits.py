"""Deletion by age: for each table one row just too young and one just too old, under the worker's
own sweeps.

The age limits are written as days and minutes, not as the code's constants.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dunwell.contact.escalation.reports.delivery_reports import sweep_old_reports
from dunwell.contact.notices.notice_outcomes import sweep_notices
from dunwell.contact.sending.batches.read_statuses import StatusFileReader
from dunwell.contact.sending.receive_sms import sweep_old_sms
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.landing.sweep_landing import delete_expired_debtor_data
from dunwell.interfaces.worker.housekeeping import Housekeeping
from dunwell.operations.jobs.runner import sweep_jobs
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.merchants import a_merchant
from tests.support.rows import insert_row
from tests.support.sql_statements import list_statements

YOUNG, OLD = 1, 2
JUST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class AgeLimit:
    """An age limit since the instant in a column. `left` is the condition for a row that is
    unchanged."""

    column: str
    age: timedelta
    others: Mapping[str, Any] = field(default_factory=dict)
    left: str = "true"


AGES = {
    "access_tokens": AgeLimit("expires_at", timedelta(0)),
    "credential_secrets": AgeLimit("expires_at", timedelta(0)),
    "request_quotas": AgeLimit("minute", timedelta(minutes=2)),
    "idempotency_keys": AgeLimit("created_at", timedelta(days=30)),
    "rate_limits": AgeLimit("last_at", timedelta(hours=1)),
    "link_request_counts": AgeLimit("window_start", timedelta(minutes=16)),
    "letter_code_failures": AgeLimit("minute", timedelta(minutes=16)),
    "debtor_sessions": AgeLimit("expires_at", timedelta(days=1)),
    "debtor_drafts": AgeLimit("kept_until", timedelta(0)),
    "pending_contact_changes": AgeLimit("expires_at", timedelta(0)),
    "uploads": AgeLimit("expires_at", timedelta(hours=1), {"storage_key": ["1/x", "1/y"]}),
    "debtor_notices": AgeLimit(
        "settled_at", timedelta(days=7), {"state": "ACCEPTED", "due_at": None},
        "recipient IS NOT NULL AND body_text IS NOT NULL",
    ),
    "portal_sessions": AgeLimit("expires_at", timedelta(days=90), {"opened_by": "TOTP"}),
    "pending_sign_ins": AgeLimit("expires_at", timedelta(0)),
    "interrupted_forms": AgeLimit("expires_at", timedelta(0)),
    "second_factor_failures": AgeLimit("failed_at", timedelta(hours=24)),
    "single_sign_on_attempts": AgeLimit("expires_at", timedelta(0)),
    "provider_logouts": AgeLimit("expires_at", timedelta(0), {"session_hash": b"x"}),
    "passkey_challenges": AgeLimit("expires_at", timedelta(0), {"purpose": "SIGN_IN"}),
    "letter_status_files": AgeLimit("read_at", timedelta(days=90), {"outcome": "READ"}),
    "delivery_reports": AgeLimit(
        "received_at", timedelta(days=90),
        {"state": "FAILED", "cause": "OTHER", "merchant_id": None},
    ),
    "inbound_sms": AgeLimit(
        "received_at", timedelta(days=90), {"kind": "UNMATCHED", "merchant_id": None}
    ),
    # The row is deleted at the exact end of its retention.
    "jobs": AgeLimit(
        "kept_until", -JUST,
        {"kind": "EXPORT", "state": "DONE", "ended_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ),
}  # fmt: skip
_REMOVES = re.compile(r"DELETE FROM (\w+)\s+WHERE.*< \$", re.DOTALL)


async def sweep(resources: Resources) -> None:
    storage = SealedFiles.open(resources)
    await Housekeeping(resources, storage).run_once()
    await sweep_jobs(resources, storage)
    await delete_expired_debtor_data(resources)
    await sweep_notices(resources)
    await sweep_old_reports(resources)
    await sweep_old_sms(resources)
    await StatusFileReader(resources, dict).sweep()


@pytest.mark.parametrize("table", AGES)
async def test_only_rows_beyond_their_age_limit_are_deleted(
    resources: Resources, clock: MovableClock, table: str
) -> None:
    each, at_limit = AGES[table], clock.now() - AGES[table].age
    instants: Mapping[int, datetime] = {YOUNG: at_limit, OLD: at_limit - JUST}
    async with resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=clock.now())).merchant_id
        # The storage used by the uploads below: each has as many bytes as its number.
        await insert_row(tx, "storage_use", 3, merchant_id=merchant_id)
        for number, instant in instants.items():
            given = {k: v[number - 1] if isinstance(v, list) else v for k, v in each.others.items()}
            await _insert(tx, table, number, merchant_id, {**given, each.column: instant})
    await sweep(resources)
    async with resources.database.connection() as connection:
        rows = await connection.fetch(f"SELECT {each.column} AS at FROM {table} WHERE {each.left}")
    assert [row["at"] for row in rows] == [instants[YOUNG]]


async def _insert(
    tx: Any, table: str, number: int, merchant_id: int, values: Mapping[str, Any]
) -> None:
    column = "SELECT FROM pg_attribute WHERE attrelid = $1::regclass AND attname = 'merchant_id'"
    owner = {"merchant_id": merchant_id} if await tx.fetchrow(column, table) is not None else {}
    await insert_row(tx, table, number, **(owner | dict(values)))


def test_each_table_with_an_age_limit_is_tested_on_both_sides() -> None:
    found = (_REMOVES.match(text.strip()) for text in list_statements().values())
    aged = {each[1] for each in found if each}
    # Rows of these tables are found by one statement and deleted or emptied by another.
    aged |= {"uploads", "debtor_notices", "jobs"}
    # These are tested in tests.usecases.test_alerts, because an alert is deleted only after it has
    # ended.
    assert aged - {"alerts", "staff_emails"} == AGES.keys()
