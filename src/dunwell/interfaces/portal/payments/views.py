"""What the pages of payments show."""

from collections.abc import Sequence
from datetime import date
from typing import ClassVar

from dunwell.cases.payments.reverse_payment import Foreseen
from dunwell.cases.payments.store import ListedPayment, ListedRequest
from dunwell.interfaces.portal.render.sorting import Sorting
from dunwell.interfaces.web.templates import Page


class PaymentsPage(Page, frozen=True):
    """kind: payments, unmatched or requests. state: of the requests that are shown; "": all.
    typed: a claim that was looked for to record a payment, and is none."""

    template: ClassVar[str] = "payments.html"
    area: ClassVar[str] = "payments"

    kind: str
    on: date | None
    payments: Sequence[ListedPayment]
    requests: Sequence[ListedRequest]
    sorting: Sorting
    after: str
    next_cursor: str | None
    state: str = ""
    typed: str = ""


class PaymentPage(Page, frozen=True):
    """seen: how the claim was when this was shown. faults: of the form that takes it back."""

    template: ClassVar[str] = "payment.html"
    area: ClassVar[str] = "payments"

    listed: ListedPayment
    foreseen: Foreseen
    seen: str
    reason: str
    error: str
    is_conflict: bool
    done_here: str


class PaymentRequestPage(Page, frozen=True):
    template: ClassVar[str] = "payment_request.html"
    area: ClassVar[str] = "payments"

    listed: ListedRequest
    is_cancellable: bool
    # Its provider can be asked what became of it.
    is_askable: bool
    done_here: str
