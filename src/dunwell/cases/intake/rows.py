"""What is stored of a claim, as the rows that `create_claims.sql` unpacks.

Structs because they are made and written several times as quickly as dictionaries; an attribute
that is None is left out. `n` numbers the claim within its set. The debtor's columns are those of
`core.claims.fields`. Pure.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from dunwell.cases.intake.submission import ClaimSubmission
from dunwell.core.claims.fields import FIELDS, make_address_row


class _Row(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class StartRow(_Row, frozen=True):
    """Where a claim starts: a process, its first step, and when."""

    workflow_id: UUID | None = None
    workflow_major: int | None = None
    next_step_id: int | None = None
    due_at: datetime | None = None


class RequestRow(_Row, frozen=True):
    """A request that creates claims, as its audit row needs it."""

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
    # Drawn beforehand; none: the statement draws one.
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


# Of the debtor's columns all but the address are stored as they were submitted.
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
        address=make_address_row(claim.address) if claim.address else None,
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
