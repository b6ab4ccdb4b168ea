"""Which lists can be written out, with which columns, and the filters each of them takes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dunwell.accounts.installation.audit_entries import AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_fields import redact
from dunwell.accounts.merchants.find_audit import find_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.dispute import DisputeState, render_case_number
from dunwell.cases.disputes.find_disputes import find_disputes
from dunwell.cases.modalities.find_modalities import ModalityFilter, find_modalities
from dunwell.cases.payments.find_payments import (
    PaymentFilter,
    RequestFilter,
    find_payment_requests,
    find_payments,
)
from dunwell.contact.messages.lists.find_communications import (
    CommunicationFilter,
    find_communications,
)
from dunwell.contact.messages.lists.find_suppressions import SuppressionFilter, find_suppressions
from dunwell.core.claims.find_claims import find_claims
from dunwell.core.claims.store_lists import ClaimFilter
from dunwell.operations.jobs.cells import Cells, render_amount
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.platform.errors import Fault, ValidationError

# Rows of a page, and where the next begins.
Page = tuple[Sequence[Cells], str | None]


@dataclass(frozen=True, slots=True)
class DisputeFilter:
    state: DisputeState | None = None
    is_overdue: bool = False


@dataclass(frozen=True, slots=True)
class Exported:
    """`find`: a page behind a cursor, for a filter of this shape."""

    columns: Sequence[str]
    filter: type[Any]
    find: Callable[[Work, Any, int, str | None], Awaitable[Page]]
    # What it takes to start it, to write it and to read what was written.
    right: Right = Right.READ_CLAIMS


def check_readable(work: Work, exported: ExportedList) -> None:
    """Raises InsufficientScope."""
    work.need(EXPORTED[exported].right)


def check_export(export: Export) -> Any:
    """The list's filter. Raises ValidationError."""
    try:
        return msgspec.convert(export.wanted, EXPORTED[export.list].filter, strict=False)
    except msgspec.ValidationError as error:
        message = f"The list of {export.list} takes no such filter: {error}."
        raise ValidationError([Fault("/wanted", message, "WRONG_FORMAT")]) from None


async def _claims(work: Work, wanted: ClaimFilter, limit: int, cursor: str | None) -> Page:
    page = await find_claims(work, limit=limit, cursor=cursor, wanted=wanted)
    rows: list[Cells] = [
        (
            each.claim_id, each.reference_number, each.customer_number, each.status,
            " ".join(hold.kind for hold in each.holds), each.first_name, each.last_name,
            each.company_name, each.currency,
            render_amount(each.balance.total_cents, each.currency),
            render_amount(each.balance.outstanding_cents, each.currency),
            render_amount(each.balance.overpaid_cents, each.currency), each.next_step_at,
            each.created_at, each.updated_at,
        )
        for each in page.claims
    ]  # fmt: skip
    return rows, page.next_cursor


async def _disputes(work: Work, wanted: DisputeFilter, limit: int, cursor: str | None) -> Page:
    found = await find_disputes(
        work, limit=limit, cursor=cursor, state=wanted.state, is_overdue=wanted.is_overdue
    )
    rows: list[Cells] = [
        (
            str(each.dispute.dispute_id), render_case_number(each.dispute.dispute_id),
            each.dispute.claim_id, each.reference_number, each.dispute.type, each.dispute.reason,
            each.dispute.message, each.dispute.state, each.dispute.actor_kind,
            each.dispute.opened_at, each.dispute.resolved_at, each.dispute.resolution,
        )
        for each in found.disputes
    ]  # fmt: skip
    return rows, found.next_cursor


async def _modalities(work: Work, wanted: ModalityFilter, limit: int, cursor: str | None) -> Page:
    found = await find_modalities(work, limit=limit, cursor=cursor, wanted=wanted)
    rows: list[Cells] = [
        (
            str(each.modality_id), each.claim_id, reference, each.type, each.state, each.currency,
            render_amount(each.amount_cents, each.currency),
            render_amount(each.paid_cents, each.currency), len(each.schedule), each.requested_at,
            each.answered_at, each.reason, each.ended_at, each.ended_reason,
        )
        for each, reference in found.modalities
    ]  # fmt: skip
    return rows, found.next_cursor


async def _payments(work: Work, wanted: PaymentFilter, limit: int, cursor: str | None) -> Page:
    found = await find_payments(work, limit=limit, cursor=cursor, wanted=wanted)
    listed = [(each.payment, each.reference_number) for each in found.payments]
    rows: list[Cells] = [
        (
            str(each.payment_id), each.claim_id, reference, each.currency,
            render_amount(each.amount_cents, each.currency), each.transaction_id,
            each.provider_name, each.method, each.paid_at, each.recorded_at, each.reversed_at,
        )
        for each, reference in listed
    ]  # fmt: skip
    return rows, found.next_cursor


async def _requests(work: Work, wanted: RequestFilter, limit: int, cursor: str | None) -> Page:
    found = await find_payment_requests(work, limit=limit, cursor=cursor, wanted=wanted)
    listed = [(each.request, each.reference_number) for each in found.requests]
    rows: list[Cells] = [
        (
            str(each.request_id), each.claim_id, reference, each.provider, each.currency,
            render_amount(each.amount_cents, each.currency), each.state, each.created_at,
            each.settled_at, each.sent_on,
        )
        for each, reference in listed
    ]  # fmt: skip
    return rows, found.next_cursor


async def _communications(
    work: Work, wanted: CommunicationFilter, limit: int, cursor: str | None
) -> Page:
    found = await find_communications(work, limit=limit, cursor=cursor, wanted=wanted)
    rows: list[Cells] = [
        (
            each.reference, each.claim_id, each.reference_number, each.channel, each.state,
            each.action_step.name, each.recipient, each.subject, each.planned_at,
            each.handed_over_at, each.settled_at, each.failure,
        )
        for each in found.communications
    ]  # fmt: skip
    return rows, found.next_cursor


async def _suppressions(
    work: Work, wanted: SuppressionFilter, limit: int, cursor: str | None
) -> Page:
    found = await find_suppressions(work, limit=limit, cursor=cursor, wanted=wanted)
    rows: list[Cells] = [
        (each.channel, each.masked_address, each.reason, each.actor_kind, each.created_at)
        for each in found.suppressions
    ]
    return rows, found.next_cursor


async def _audit(work: Work, wanted: AuditFilter, limit: int, cursor: str | None) -> Page:
    found = await find_audit(work, limit=limit, cursor=cursor, wanted=wanted)
    rows: list[Cells] = [
        (
            each.at, each.actor_kind, each.actor_id, each.action, each.subject,
            _write_json(each.before), _write_json(each.after), _write_json(each.details),
            *((each.origin or {}).get(name) for name in ("face", "network", "session")),
            each.seal, str(each.audit_id),
        )
        for each in found.entries
    ]  # fmt: skip
    return rows, found.next_cursor


def _write_json(fields: Mapping[str, Any] | None) -> str | None:
    return msgspec.json.encode(redact(fields)).decode() if fields else None


EXPORTED: Mapping[ExportedList, Exported] = {
    ExportedList.CLAIMS: Exported(
        (
            "claimId", "referenceNumber", "customerNumber", "status", "holds", "debtorName",
            "debtorLastName", "companyName", "currency", "total", "outstanding", "overpaid",
            "nextStepAt", "createdAt", "updatedAt",
        ),
        ClaimFilter, _claims,
    ),
    ExportedList.DISPUTES: Exported(
        (
            "id", "caseNumber", "claimId", "referenceNumber", "type", "reason", "message",
            "state", "openedBy", "openedAt", "resolvedAt", "resolution",
        ),
        DisputeFilter, _disputes,
    ),
    ExportedList.MODALITIES: Exported(
        (
            "id", "claimId", "referenceNumber", "type", "state", "currency", "total", "paid",
            "rates", "requestedAt", "answeredAt", "reason", "endedAt", "endedReason",
        ),
        ModalityFilter, _modalities,
    ),
    ExportedList.PAYMENTS: Exported(
        (
            "id", "claimId", "referenceNumber", "currency", "amount", "transactionId",
            "providerName", "method", "paidAt", "recordedAt", "reversedAt",
        ),
        PaymentFilter, _payments,
    ),
    ExportedList.REQUESTS: Exported(
        (
            "id", "claimId", "referenceNumber", "providerName", "currency", "amount", "state",
            "createdAt", "settledAt", "sentOn",
        ),
        RequestFilter, _requests,
    ),
    ExportedList.COMMUNICATIONS: Exported(
        (
            "reference", "claimId", "referenceNumber", "channel", "state", "actionStep",
            "recipient", "subject", "plannedAt", "handedOverAt", "settledAt", "failure",
        ),
        CommunicationFilter, _communications,
    ),
    ExportedList.SUPPRESSIONS: Exported(
        ("channel", "maskedAddress", "reason", "by", "createdAt"),
        SuppressionFilter, _suppressions,
    ),
    ExportedList.AUDIT: Exported(
        (
            "at", "actorKind", "actorId", "action", "subject", "before", "after", "details",
            "face", "network", "session", "seal", "id",
        ),
        AuditFilter, _audit, Right.AUDIT,
    ),
}  # fmt: skip
