"""The rows of a new claim that `create_claims.sql` unpacks.

They are structs because these are built and encoded several times faster than dictionaries.
Attributes that are None are omitted. `n` numbers the claims of a statement. The debtor's columns
are those of `core.claims.fields`. Pure.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.fields import FIELDS, build_address_row


class _Row(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class StartRow(_Row, frozen=True):
    """Where a claim starts: its workflow, first step and due time."""

    workflow_id: UUID | None = None
    workflow_major: int | None = None
    next_step_id: int | None = None
    due_at: datetime | None = None


class RequestRow(_Row, frozen=True):
    """A request with the data of its audit entry."""

    request: int
    audit_id: UUID
    actor_kind: str
    actor_id: str | None = None
    origin: Mapping[str, str] | None = None


class _ClaimRowHead(_Row, frozen=True, kw_only=True):
    n: int
    request: int
    reference_number: str
    currency: str
    # The reserved id; with None, the statement takes one from the sequence.
    claim_id: int | None = None
    workflow_id: UUID | None = None
    workflow_major: int | None = None
    next_step_id: int | None = None
    due_at: datetime | None = None
    address: object = None


class ItemRow(_Row, frozen=True):
    n: int
    position: int
    reference: str
    type: str
    value_cents: int
    item_date: date | None = None
    due_date: date | None = None


# All debtor columns except the address are stored as submitted.
_COLUMNS = tuple(each.name for each in FIELDS if each.name != "address")
_get_columns = attrgetter(*_COLUMNS)
_ClaimRow: Any = msgspec.defstruct(
    "_ClaimRow", [(name, Any, None) for name in _COLUMNS], bases=(_ClaimRowHead,), frozen=True
)
UNASSIGNED = StartRow()


def build_claim_row(
    n: int, claim: ClaimSubmission, start: StartRow, *, request: int, claim_id: int | None = None
) -> object:
    row: object = _ClaimRow(
        *_get_columns(claim),
        n=n,
        request=request,
        reference_number=claim.reference_number,
        currency=claim.currency,
        claim_id=claim_id,
        workflow_id=start.workflow_id,
        workflow_major=start.workflow_major,
        next_step_id=start.next_step_id,
        due_at=start.due_at,
        address=build_address_row(claim.address) if claim.address else None,
    )
    return row


def build_item_rows(n: int, claim: ClaimSubmission) -> Iterator[ItemRow]:
    for position, item in enumerate(claim.items):
        yield ItemRow(
            n=n,
            position=position,
            reference=item.reference,
            type=item.type,
            value_cents=int(item.value),
            item_date=item.item_date,
            due_date=item.due_date,
        )
