"""The rows that the service writes for claims, table by table, for references that write the same
rows. They are taken from the statement that creates the claims, so that no statement is copied
here. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from bench.captured import Statement
from dunwell.core.claims.fields import FIELDS

Row = dict[str, Any]
_CLAIM = ("reference_number", "currency", "workflow_id", "workflow_major", "next_step_id", "due_at")
_DEBTOR = tuple(each.name for each in FIELDS)
_ITEM = ("position", "reference", "type", "value_cents", "item_date", "due_date")


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    rows: Sequence[Row]


def list_tables(statement: Statement, first_id: int) -> Sequence[Table]:
    """Return the tables of one statement in the order of their foreign keys. `first_id` is the id
    of its first claim."""
    merchant_id, claims, items, _, audits, now, rules_version = (
        msgspec.to_builtins(each) for each in statement.values
    )
    ids = {each["n"]: first_id + each["n"] for each in claims}
    written = {"run": 1, "rules_version": rules_version, "created_at": now, "updated_at": now}

    def key(row: Row) -> Row:
        return {"merchant_id": merchant_id, "claim_id": ids[row["n"]]}

    return [
        Table("claims", [key(each) | _take(each, _CLAIM) | written for each in claims]),
        Table("debtors", [key(each) | _take(each, _DEBTOR) for each in claims]),
        Table("items", [key(each) | _take(each, _ITEM) for each in items]),
        Table("audit_log", [_audit(merchant_id, each, now, [*ids.values()]) for each in audits]),
    ]


def _take(source: Row, names: Sequence[str]) -> Row:
    return {name: source.get(name) for name in names}


def _audit(merchant_id: int, request: Row, now: Any, claim_ids: list[int]) -> Row:
    return {
        "merchant_id": merchant_id,
        **_take(request, ("audit_id", "actor_kind", "actor_id")),
        "at": now,
        "action": "claims.create",
        "subject": f"merchant:{merchant_id}",
        "details": {"claimIds": claim_ids},
    }
