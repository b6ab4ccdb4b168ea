"""What is stored of a claim, as the rows that `create_claims.sql` unpacks.

Structs because they are made and written several times as quickly as dictionaries; an attribute
that is None is left out. `n` numbers the claim within its set. Pure.
"""

from collections.abc import Iterator
from datetime import date, datetime
from uuid import UUID

import msgspec

from dunwell.intake.submission import AddressSubmission, ClaimSubmission


class _Row(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class AddressRow(_Row, frozen=True):
    street: str | None = None
    address_line2: str | None = None
    postal_code: str | None = None
    city: str | None = None
    country: str | None = None


class StartRow(_Row, frozen=True):
    """Where a claim starts: a process, its first step, and when."""

    workflow_id: UUID | None = None
    workflow_major: int | None = None
    next_step_id: int | None = None
    due_at: datetime | None = None


class ClaimRow(_Row, frozen=True):
    n: int
    reference_number: str
    currency: str
    first_name: str | None = None
    last_name: str | None = None
    company_name: str | None = None
    email: str | None = None
    mobile_number: str | None = None
    language: str | None = None
    date_of_birth: date | None = None
    address: AddressRow | None = None
    customer_number: str | None = None
    contract_number: str | None = None
    custom_fields: dict[str, str] | None = None
    max_deferral_on: date | None = None
    workflow_id: UUID | None = None
    workflow_major: int | None = None
    next_step_id: int | None = None
    due_at: datetime | None = None
    # Drawn beforehand; none: the statement draws one.
    claim_id: int | None = None


class ItemRow(_Row, frozen=True):
    n: int
    position: int
    reference: str
    type: str
    value_cents: int
    item_date: date | None = None
    due_date: date | None = None


UNASSIGNED = StartRow()


def make_claim_row(
    n: int, claim: ClaimSubmission, start: StartRow, claim_id: int | None = None
) -> ClaimRow:
    return ClaimRow(
        n=n,
        reference_number=claim.reference_number,
        currency=claim.currency,
        first_name=claim.debtor_name,
        last_name=claim.debtor_last_name,
        company_name=claim.company_name,
        email=claim.email,
        mobile_number=claim.mobile_number,
        language=claim.language,
        date_of_birth=claim.date_of_birth,
        address=make_address_row(claim.address) if claim.address else None,
        customer_number=claim.customer_number,
        contract_number=claim.contract_number,
        custom_fields=claim.custom_fields,
        max_deferral_on=claim.max_deferral_date,
        workflow_id=start.workflow_id,
        workflow_major=start.workflow_major,
        next_step_id=start.next_step_id,
        due_at=start.due_at,
        claim_id=claim_id,
    )


def make_item_rows(n: int, claim: ClaimSubmission) -> Iterator[ItemRow]:
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


def make_address_row(address: AddressSubmission) -> AddressRow:
    return AddressRow(
        street=address.street,
        address_line2=address.address_line2,
        postal_code=address.postal_code,
        city=address.city,
        country=address.country,
    )
