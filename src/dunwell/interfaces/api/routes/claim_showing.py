"""Convert a claim and its parts to their wire types."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import msgspec
from msgspec import UNSET

from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.fields import FIELDS, AddressSubmission, DebtorFields
from dunwell.core.claims.read_claim import ClaimView, CurrentAssignment
from dunwell.core.claims.states import Hold
from dunwell.core.files.upload import AttachedFile
from dunwell.interfaces.api.schemas import claims
from dunwell.interfaces.api.schemas.claims import Attachment
from dunwell.platform.text.wire import render_instant


def build_claim(
    view: ClaimView, attached: Sequence[AttachedFile], landing_page_url: str
) -> claims.Claim:
    return claims.Claim(
        id=view.claim_id,
        reference_number=view.reference_number,
        currency=view.currency,
        **_show_debtor(view.debtor),
        status=view.status.value,
        holds=build_claim_holds(view.holds),
        total=str(view.balance.total_cents),
        outstanding=str(view.balance.outstanding_cents),
        overpaid=str(view.balance.overpaid_cents),
        items=[build_claim_item(item) for item in view.items],
        attachments=[build_attachment(each) for each in attached],
        assignment=_show_assignment(view.assignment),
        next_step_at=render_instant(view.next_step_at),
        created_at=render_instant(view.created_at),
        updated_at=render_instant(view.updated_at),
        landing_page_url=landing_page_url,
    )


def _show_debtor(debtor: DebtorFields) -> dict[str, Any]:
    shown = {each.name: getattr(debtor, each.name) for each in FIELDS}
    return shown | {
        "address": _show_address(debtor.address),
        "custom_fields": debtor.custom_fields or None,
    }


def _show_address(address: AddressSubmission | None) -> object:
    if address is None:
        return None
    return claims.Address(
        **{name: value or UNSET for name, value in msgspec.structs.asdict(address).items()}
    )


def build_claim_holds(holds: Sequence[Hold]) -> list[claims.ClaimHold]:
    return [
        claims.ClaimHold(
            kind=hold.kind.value,
            since=render_instant(hold.since),
            until=render_instant(hold.until),
            by=hold.actor_kind.value,
            reason=hold.reason,
        )
        for hold in holds
    ]


def build_claim_item(item: OwedItem) -> claims.ClaimItem:
    return claims.ClaimItem(
        id=item.item_id,
        reference=item.reference,
        type=item.type,
        value=str(item.value_cents),
        outstanding=str(item.outstanding_cents),
        item_date=render_day(item.item_on),
        due_date=render_day(item.due_on),
        item_id=item.fee_of,
    )


def build_attachment(attached: AttachedFile) -> Attachment:
    return Attachment(
        id=str(attached.attachment_id),
        friendly_name=attached.friendly_name,
        file_name=attached.file_name,
        content_type=attached.content_type,
        size=attached.size_bytes,
        created_at=render_instant(attached.created_at),
        state="READY",
    )


def _show_assignment(assignment: CurrentAssignment | None) -> claims.ClaimAssignment | None:
    if assignment is None:
        return None
    if assignment.scenario_id is not None:
        return claims.ClaimAssignment(scenario_id=assignment.scenario_id)
    return claims.ClaimAssignment(
        workflow_id=str(assignment.workflow_id), workflow_version=assignment.version
    )


def render_day(day: date | None) -> str | None:
    return day.isoformat() if day else None
