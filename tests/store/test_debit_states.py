"""Each statement that changes the state of a debit, a mandate, a file or a payment request is run
on a row in each state: it changes the row only in the states from which that is possible."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.direct_debit import store as debits
from dunwell.cases.direct_debit.files import store as files
from dunwell.cases.direct_debit.provider_records import store as at_provider
from dunwell.cases.payments.requests import store as requests
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.platform.database.database import Connection, Database
from tests.support.rows import NOW, Values, insert_row
from tests.support.sql_statements import list_names_of

ID, FILE_ID, OTHER_FILE_ID = UUID(int=1), UUID(int=2), UUID(int=3)
LATER = NOW + timedelta(hours=1)
_IN_FILE: Values = {"file_id": FILE_ID, "sequence_type": "FRST"}
# Table -> state -> the columns of a row in it.
STATES: Mapping[str, Mapping[str, Values]] = {
    "debit_collections": {
        "PLANNED": {"provider": "bank"},
        "PRENOTIFIED": {"notified_at": NOW},
        "PROPOSED": {"state": "PRENOTIFIED", "notified_at": NOW, "file_id": FILE_ID},
        "RELEASED": _IN_FILE,
        "DELIVERED": _IN_FILE,
        "COLLECTED": _IN_FILE,
        "RETURNED": {**_IN_FILE, "return_reason": "AM04"},
        "CANCELLED": {"cancel_reason": "PAID", "file_id": FILE_ID},
    },
    "mandates": {
        "ACTIVE": {},
        "REVOKED": {"ended_at": NOW, "ended_reason": "RETURNED"},
        "EXPIRED": {"ended_at": NOW, "ended_reason": "UNUSED"},
    },
    "debit_files": {
        "PROPOSED": {"content_sealed": None, "content_digest": None, "released_at": None},
        "RELEASED": {},
        "HANDED_OVER": {"state": "RELEASED", "handed_over_at": NOW},
        "DELIVERED": {"delivered_at": NOW},
    },
    "provider_mandates": {
        state: {"provider_mandate_id": "MD1"} for state in ("OPEN", "ACTIVE", "CANCELLING", "ENDED")
    },
    "provider_debits": {"TO_ORDER": {}, "TO_CANCEL": {"cancel_reason": "PAID"}},
    "payment_requests": {each.value: {} for each in PaymentRequestState},
}
_KEYS = {
    "debit_collections": "collection_id", "mandates": "mandate_id", "debit_files": "file_id",
    "provider_mandates": "mandate_id", "provider_debits": "collection_id",
    "payment_requests": "request_id",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StateChange:
    """A statement, its values after the merchant's id, and the states from which it changes."""

    statement: str
    table: str
    values: Sequence[Any]
    states: Collection[str]

    @property
    def name(self) -> str:
        return list_names_of(self.statement)[0]


CHANGES = [
    StateChange(*each) for each in (
        (debits._SAVE_PRENOTIFIED, "debit_collections", (ID, NOW.date(), 5, NOW), {"PLANNED"}),
        (
            debits._SAVE_CANCELLED, "debit_collections", (ID, "HELD_BACK", NOW),
            {"PLANNED", "PRENOTIFIED", "PROPOSED", "RELEASED"},
        ),
        (
            debits._SAVE_RESULT, "debit_collections",
            (ID, "DELIVERED", "COLLECTED", None, None, NOW), {"DELIVERED"},
        ),
        (files._PUT_INTO_FILE, "debit_collections", ([ID], OTHER_FILE_ID, NOW), {"PRENOTIFIED"}),
        (files._TAKE_OUT, "debit_collections", (FILE_ID,), {"PROPOSED"}),
        (
            files._SAVE_ORDERED, "debit_collections", (FILE_ID, NOW, [ID], ["FRST"], ["B"]),
            {"PRENOTIFIED", "PROPOSED"},
        ),
        (files._SAVE_DELIVERED_COLLECTIONS, "debit_collections", (FILE_ID, NOW), {"RELEASED"}),
        (at_provider._SAVE_ORDERED, "debit_collections", (ID, 5, NOW), {"PLANNED"}),
        (at_provider._SAVE_ACCEPTED, "debit_collections", (ID, NOW.date(), NOW), {"RELEASED"}),
        (debits._END_MANDATE, "mandates", (ID, "REVOKED", LATER, "REVOKED"), {"ACTIVE"}),
        (debits._SAVE_NEXT_CHECK, "mandates", (ID, LATER), {"ACTIVE"}),
        (
            files._SAVE_RELEASED, "debit_files",
            (ID, NOW, "USER:1", 1, 1, b"1", b"2", "bank", LATER), {"PROPOSED"},
        ),
        (files._DELETE_PROPOSED, "debit_files", (ID,), {"PROPOSED"}),
        (files._DELETE_EMPTY, "debit_files", (ID,), {"RELEASED"}),
        (files._SAVE_REWRITTEN, "debit_files", (ID, 9, 9, b"1", b"2"), {"RELEASED"}),
        (files._SAVE_DELIVERED, "debit_files", (ID, LATER, "bank"), {"RELEASED", "HANDED_OVER"}),
        (files._SAVE_HANDED_OVER, "debit_files", (ID, LATER), {"RELEASED", "HANDED_OVER"}),
        (at_provider._SAVE_CHECKOUT, "provider_mandates", (ID, "BRQ1", LATER), {"OPEN"}),
        (at_provider._SAVE_STATE, "provider_mandates", (ID, "OPEN", "ENDED", None, None), {"OPEN"}),
        (
            at_provider._MAKE_DUE, "provider_mandates", (ID, LATER),
            {"OPEN", "ACTIVE", "CANCELLING"},
        ),
        (at_provider._CANCEL_DEBIT, "provider_debits", (ID, "MANDATE_ENDED", NOW), {"TO_ORDER"}),
        (requests._SAVE_CHECKOUT, "payment_requests", (ID, "OPEN", "r", "u"), {"CREATED"}),
    )
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.name)
async def test_a_state_changes_only_from_the_states_that_allow_it(
    database: Database, change: StateChange
) -> None:
    changed = set()
    for state, values in STATES[change.table].items():
        async with database.transaction() as tx:
            if await _changes(tx, change, state, values):
                changed.add(state)
    assert changed == change.states


async def _changes(tx: Connection, change: StateChange, state: str, values: Values) -> bool:
    """Return whether the statement changes a row in this state, and roll back."""
    trial = tx.transaction()
    await trial.start()
    try:
        key = _KEYS[change.table]
        has_state = change.table != "provider_debits"
        row = {"merchant_id": 1, key: ID, **({"state": state} if has_state else {}), **values}
        await insert_row(tx, change.table, 1, **row)
        before = await _read(tx, change.table)
        await tx.execute("SET session_replication_role = replica")
        await tx.execute(change.statement, 1, *change.values)
        return before != await _read(tx, change.table)
    finally:
        await trial.rollback()


async def _read(tx: Connection, table: str) -> list[str]:
    rows = await tx.fetch(f"SELECT t::text AS row FROM {table} t")
    return [row["row"] for row in rows]
