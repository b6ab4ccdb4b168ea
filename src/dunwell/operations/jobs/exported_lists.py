"""The lists that can be exported, with their columns and filters, and their rows as CSV."""

import csv
import io
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any, TypeAlias
from uuid import UUID

import msgspec

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_fields import redact
from dunwell.accounts.merchants.audit_log import list_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import DIRECT_DEBIT
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    MandateFilter,
    list_all_mandates,
    list_collections,
)
from dunwell.cases.direct_debit.listing.store import ListedCollection, ListedMandate
from dunwell.cases.disputes.dispute import DisputeState, render_case_number
from dunwell.cases.disputes.list_disputes import list_disputes
from dunwell.cases.disputes.store import ListedDispute
from dunwell.cases.modalities.list_modalities import ModalityFilter, list_modalities
from dunwell.cases.modalities.store import ListedModality
from dunwell.cases.payments.list_payments import (
    PaymentFilter,
    PaymentRequestFilter,
    list_payment_requests,
    list_payments,
)
from dunwell.cases.payments.store import ListedPayment, ListedPaymentRequest
from dunwell.contact.messages.communications.communication import FoundCommunication
from dunwell.contact.messages.communications.list_communications import (
    CommunicationFilter,
    list_communications,
)
from dunwell.contact.messages.suppression import (
    SuppressionEntry,
    SuppressionFilter,
    list_suppressions,
)
from dunwell.contact.messages.templates.formatting import count_minor_digits
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter, ClaimRow
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.wire import render_instant

Cell: TypeAlias = str | int | bool | datetime | date | Enum | None
Cells: TypeAlias = Sequence[Cell]

BYTE_ORDER_MARK = "\ufeff".encode()
# Characters at the start of a formula, and those that spreadsheets skip before a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# Spreadsheets with other language settings split a cell at these separators and may read the rest
# as a formula. They skip spaces and quotes before it.
_FORMULA_AFTER_SPLIT = re.compile(r"""([;\t\r\n])(?=(?:[^\S\t\r\n]|")*[=+\-@])""")


def render_rows(rows: Iterable[Cells]) -> bytes:
    """Return the rows as CSV in UTF-8, without a byte order mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([_render_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def render_amount(cents: int, currency: str) -> str:
    """Return the amount as a decimal number with a point."""
    digits = count_minor_digits(currency)
    sign, number = "-" if cents < 0 else "", str(abs(cents)).rjust(digits + 1, "0")
    return f"{sign}{number[:-digits]}.{number[-digits:]}" if digits else f"{sign}{number}"


def _render_cell(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return render_instant(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    text = str(cell.value) if isinstance(cell, Enum) else str(cell)
    is_text = isinstance(cell, str) and not isinstance(cell, Enum)
    return _escape_formula(text) if is_text else text


def _escape_formula(text: str) -> str:
    """Put an apostrophe before everything that a spreadsheet could read as a formula, also after a
    separator at which it could split the cell."""
    safe = _FORMULA_AFTER_SPLIT.sub(r"\1'", text)
    return f"'{safe}" if safe.lstrip(' "').startswith(_FORMULA_STARTS) else safe


@dataclass(frozen=True, slots=True)
class ExportedDisputeFilter:
    """The filter of exported disputes."""

    state: DisputeState | None = None
    is_overdue: bool = False


@dataclass(frozen=True, slots=True)
class ExportDefinition:
    """`list_page` returns the page after a cursor, for a filter of the type `filter`. `columns`
    returns the cells of an item."""

    list_page: Callable[..., Awaitable[ListPage[Any]]]
    filter: type[Any]
    columns: Mapping[str, Callable[[Any], Cell]]
    # The right to start the export, to write it, and to read the result.
    right: Right = Right.READ_CLAIMS

    async def load_rows(
        self, work: Work, wanted: Any, limit: int, cursor: str | None
    ) -> tuple[Sequence[Cells], str | None]:
        """Return the rows of a page and the cursor of the next one."""
        page = await self.list_page(work, limit=limit, cursor=cursor, wanted=wanted)
        rows = [[read(each) for read in self.columns.values()] for each in page.items]
        return rows, page.next_cursor


def check_may_read(work: Work, exported: ExportedList) -> None:
    """Check that the actor may read the list. Raises InsufficientScope."""
    work.require(EXPORTED[exported].right)


def check_export(export: Export) -> Any:
    """Return the filter of the list. Raises ValidationError."""
    try:
        return msgspec.convert(export.wanted, EXPORTED[export.list].filter, strict=False)
    except msgspec.ValidationError as error:
        message = f"The list of {export.list} does not have this filter: {error}."
        raise ValidationError([Fault("/wanted", message, "WRONG_FORMAT")]) from None


async def _list_disputes(
    work: Work, *, limit: int, cursor: str | None, wanted: ExportedDisputeFilter
) -> ListPage[ListedDispute]:
    return await list_disputes(
        work, limit=limit, cursor=cursor, state=wanted.state, is_overdue=wanted.is_overdue
    )


def _render_json(fields: Mapping[str, Any] | None) -> str | None:
    return msgspec.json.encode(redact(fields)).decode() if fields else None


def _render_id(given: UUID | None) -> str | None:
    return None if given is None else str(given)


def _build_origin_cell(name: str) -> Callable[[AuditEntry], Cell]:
    return lambda entry: (entry.origin or {}).get(name)


_CLAIMS: Mapping[str, Callable[[ClaimRow], Cell]] = {
    "claimId": lambda claim: claim.claim_id,
    "referenceNumber": lambda claim: claim.reference_number,
    "customerNumber": lambda claim: claim.customer_number,
    "status": lambda claim: claim.status,
    "holds": lambda claim: " ".join(hold.kind for hold in claim.holds),
    "debtorName": lambda claim: claim.first_name,
    "debtorLastName": lambda claim: claim.last_name,
    "companyName": lambda claim: claim.company_name,
    "currency": lambda claim: claim.currency,
    "total": lambda claim: render_amount(claim.balance.total_cents, claim.currency),
    "outstanding": lambda claim: render_amount(claim.balance.outstanding_cents, claim.currency),
    "overpaid": lambda claim: render_amount(claim.balance.overpaid_cents, claim.currency),
    "nextStepAt": lambda claim: claim.next_step_at,
    "createdAt": lambda claim: claim.created_at,
    "updatedAt": lambda claim: claim.updated_at,
}
_DISPUTES: Mapping[str, Callable[[ListedDispute], Cell]] = {
    "id": lambda listed: str(listed.dispute.dispute_id),
    "caseNumber": lambda listed: render_case_number(listed.dispute.dispute_id),
    "claimId": lambda listed: listed.dispute.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "type": lambda listed: listed.dispute.type,
    "reason": lambda listed: listed.dispute.reason,
    "message": lambda listed: listed.dispute.message,
    "state": lambda listed: listed.dispute.state,
    "openedBy": lambda listed: listed.dispute.actor_kind,
    "openedAt": lambda listed: listed.dispute.opened_at,
    "resolvedAt": lambda listed: listed.dispute.resolved_at,
    "resolution": lambda listed: listed.dispute.resolution,
}
_MODALITIES: Mapping[str, Callable[[ListedModality], Cell]] = {
    "id": lambda listed: str(listed.modality.modality_id),
    "claimId": lambda listed: listed.modality.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "type": lambda listed: listed.modality.type,
    "state": lambda listed: listed.modality.state,
    "currency": lambda listed: listed.modality.currency,
    "total": lambda listed: render_amount(listed.modality.amount_cents, listed.modality.currency),
    "paid": lambda listed: render_amount(listed.modality.paid_cents, listed.modality.currency),
    "rates": lambda listed: len(listed.modality.schedule),
    "requestedAt": lambda listed: listed.modality.requested_at,
    "answeredAt": lambda listed: listed.modality.answered_at,
    "reason": lambda listed: listed.modality.reason,
    "endedAt": lambda listed: listed.modality.ended_at,
    "endedReason": lambda listed: listed.modality.ended_reason,
}
_PAYMENTS: Mapping[str, Callable[[ListedPayment], Cell]] = {
    "id": lambda listed: str(listed.payment.payment_id),
    "claimId": lambda listed: listed.payment.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "currency": lambda listed: listed.payment.currency,
    "amount": lambda listed: render_amount(listed.payment.amount_cents, listed.payment.currency),
    "transactionId": lambda listed: listed.payment.transaction_id,
    "providerName": lambda listed: listed.payment.provider_name,
    "method": lambda listed: listed.payment.method,
    "paidAt": lambda listed: listed.payment.paid_at,
    "recordedAt": lambda listed: listed.payment.recorded_at,
    "reversedAt": lambda listed: listed.payment.reversed_at,
}
_REQUESTS: Mapping[str, Callable[[ListedPaymentRequest], Cell]] = {
    "id": lambda listed: str(listed.request.request_id),
    "claimId": lambda listed: listed.request.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "providerName": lambda listed: listed.request.provider_name,
    "currency": lambda listed: listed.request.currency,
    "amount": lambda listed: render_amount(listed.request.amount_cents, listed.request.currency),
    "state": lambda listed: listed.request.state,
    "createdAt": lambda listed: listed.request.created_at,
    "settledAt": lambda listed: listed.request.settled_at,
    "sentOn": lambda listed: listed.request.sent_on,
}
_MANDATES: Mapping[str, Callable[[ListedMandate], Cell]] = {
    "id": lambda listed: str(listed.mandate.mandate_id),
    "claimId": lambda listed: listed.mandate.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "modalityId": lambda listed: str(listed.mandate.modality_id),
    "reference": lambda listed: listed.mandate.reference,
    "providerName": lambda listed: listed.mandate.provider_name or DIRECT_DEBIT,
    "providerAccount": lambda listed: listed.mandate.provider,
    "providerMandateId": lambda listed: listed.provider_mandate_id,
    "account": lambda listed: listed.mandate.account_shown,
    "state": lambda listed: listed.mandate.state,
    "signedAt": lambda listed: listed.mandate.signed_at,
    "expiresOn": lambda listed: listed.mandate.expires_on,
    "endedAt": lambda listed: listed.mandate.ended_at,
    "endedReason": lambda listed: listed.mandate.ended_reason,
}
_COLLECTIONS: Mapping[str, Callable[[ListedCollection], Cell]] = {
    "id": lambda listed: str(listed.collection.collection_id),
    "claimId": lambda listed: listed.collection.claim_id,
    "referenceNumber": lambda listed: listed.reference_number,
    "mandateReference": lambda listed: listed.mandate_reference,
    "providerName": lambda listed: listed.provider_name or DIRECT_DEBIT,
    "providerAccount": lambda listed: listed.collection.provider,
    "providerPaymentId": lambda listed: listed.provider_payment_id,
    "instalment": lambda listed: listed.collection.instalment,
    "dueOn": lambda listed: listed.collection.due_on,
    "collectedOn": lambda listed: listed.collection.collected_on,
    "currency": lambda listed: listed.collection.currency,
    "amount": lambda listed: render_amount(
        listed.collection.amount_cents, listed.collection.currency
    ),
    "state": lambda listed: listed.collection.state,
    "returnReason": lambda listed: listed.collection.return_reason,
    "cancelReason": lambda listed: listed.collection.cancel_reason,
    "file": lambda listed: listed.message_id,
    "endToEndId": lambda listed: listed.collection.end_to_end_id,
    "paymentId": lambda listed: _render_id(listed.collection.payment_id),
    "notifiedAt": lambda listed: listed.collection.notified_at,
}
_COMMUNICATIONS: Mapping[str, Callable[[FoundCommunication], Cell]] = {
    "reference": lambda sent: sent.reference,
    "claimId": lambda sent: sent.claim_id,
    "referenceNumber": lambda sent: sent.reference_number,
    "channel": lambda sent: sent.channel,
    "state": lambda sent: sent.state,
    "actionStep": lambda sent: sent.action_step.name,
    "recipient": lambda sent: sent.recipient,
    "subject": lambda sent: sent.subject,
    "plannedAt": lambda sent: sent.planned_at,
    "handedOverAt": lambda sent: sent.handed_over_at,
    "settledAt": lambda sent: sent.settled_at,
    "failure": lambda sent: sent.failure,
}
_SUPPRESSIONS: Mapping[str, Callable[[SuppressionEntry], Cell]] = {
    "channel": lambda listed: listed.channel,
    "maskedAddress": lambda listed: listed.masked_address,
    "reason": lambda listed: listed.reason,
    "by": lambda listed: listed.actor_kind,
    "createdAt": lambda listed: listed.created_at,
}
_AUDIT: Mapping[str, Callable[[AuditEntry], Cell]] = {
    "at": lambda entry: entry.at,
    "actorKind": lambda entry: entry.actor_kind,
    "actorId": lambda entry: entry.actor_id,
    "action": lambda entry: entry.action,
    "subject": lambda entry: entry.subject,
    "before": lambda entry: _render_json(entry.before),
    "after": lambda entry: _render_json(entry.after),
    "details": lambda entry: _render_json(entry.details),
    **{name: _build_origin_cell(name) for name in ("face", "network", "session")},
    "seal": lambda entry: entry.seal,
    "id": lambda entry: str(entry.audit_id),
}
EXPORTED: Mapping[ExportedList, ExportDefinition] = {
    ExportedList.CLAIMS: ExportDefinition(list_claims, ClaimFilter, _CLAIMS),
    ExportedList.DISPUTES: ExportDefinition(_list_disputes, ExportedDisputeFilter, _DISPUTES),
    ExportedList.MODALITIES: ExportDefinition(list_modalities, ModalityFilter, _MODALITIES),
    ExportedList.PAYMENTS: ExportDefinition(list_payments, PaymentFilter, _PAYMENTS),
    ExportedList.REQUESTS: ExportDefinition(list_payment_requests, PaymentRequestFilter, _REQUESTS),
    ExportedList.MANDATES: ExportDefinition(list_all_mandates, MandateFilter, _MANDATES),
    ExportedList.COLLECTIONS: ExportDefinition(list_collections, CollectionFilter, _COLLECTIONS),
    ExportedList.COMMUNICATIONS: ExportDefinition(
        list_communications, CommunicationFilter, _COMMUNICATIONS
    ),
    ExportedList.SUPPRESSIONS: ExportDefinition(
        list_suppressions, SuppressionFilter, _SUPPRESSIONS
    ),
    ExportedList.AUDIT: ExportDefinition(list_audit, AuditFilter, _AUDIT, Right.AUDIT),
}
