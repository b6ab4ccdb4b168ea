"""What the page of the audit log shows."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.audit_fields import ShownField
from dunwell.interfaces.web.templates import Page
from dunwell.operations.keys.verify_span import SpanVerdict


class AuditFilters(msgspec.Struct, frozen=True, gc=False):
    """As they stand in the address, whether they mean anything or not."""

    since: str = ""
    until: str = ""
    # A kind of actor: USER, CREDENTIAL, DEBTOR, SYSTEM, OPERATOR.
    kind: str = ""
    # A name or an e-mail address of a person, or the id of a program.
    who: str = ""
    action: str = ""
    # A claim's number or reference.
    claim: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Those that are given."""
        return {name: text for name, text in msgspec.structs.asdict(self).items() if text}


class AuditRow(msgspec.Struct, frozen=True, gc=False):
    audit_id: UUID
    at: datetime
    actor_kind: str
    # Of a person the name, of a program its id; "": neither.
    actor: str
    actor_id: str
    action: str
    subject: str
    # None: it is about no claim.
    claim_id: int | None
    fields: Sequence[ShownField]
    # What else the row holds, as it is shown.
    details: Mapping[str, Any]
    interface: str
    network: str
    # The number of the seal that covers it; none for some seconds.
    seal: int | None


class AuditPage(Page, frozen=True):
    template: ClassVar[str] = "audit.html"
    area: ClassVar[str] = "audit"

    filters: AuditFilters
    # Which filters mean nothing.
    faults: Sequence[tuple[str, str]]
    rows: Sequence[AuditRow]
    after: str
    next_cursor: str | None
    # The first and the last seal of the rows shown; none: no seal covers them yet.
    span: tuple[int, int] | None
    # How many of them no seal covers yet.
    unsealed: int
    verdict: SpanVerdict | None
