"""A page of the portal that the benchmark requests. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from dunwell.interfaces.portal.render.addresses import build_address

# Returns a text for the number of the attempt: searches differ between attempts, as between clerks.
TextByAttempt = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Page:
    """`address` returns the address for the number of the attempt."""

    name: str
    address: TextByAttempt


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about the merchant with most claims: the number of claims, the first one's id, its
    workflow and another with few claims, each with a draft, a claim with an open dispute and that
    dispute, a job, a message, a user, a credential, a print batch, a bank statement with
    its file, a payout that has arrived, and the current day."""

    merchant_id: int
    rows: int
    first_id: int
    workflow_id: object
    seldom_id: object
    disputed_id: int
    dispute_id: object
    plan_claim_id: int
    plan_id: object
    job_id: object
    message_id: object
    message_claim_id: int
    user_id: object
    client_id: str
    batch_id: object
    statement_hash: bytes
    bank_file_id: object
    payout_id: object
    today: date


def list_installation_pages(asked: Mapping[str, tuple[str, Mapping[str, object]]]) -> list[Page]:
    return [
        Page(name, lambda _, page=page, given=given: build_address(page, **given))  # type: ignore[misc]
        for name, (page, given) in asked.items()
    ]


def list_merchant_pages(
    known: Known, asked: Mapping[str, tuple[str, Mapping[str, object]]]
) -> list[Page]:
    return [
        Page(name, build_fixed_address(known, page, given)) for name, (page, given) in asked.items()
    ]


def build_fixed_address(known: Known, page: str, given: Mapping[str, object]) -> TextByAttempt:
    address = build_address(page, merchant_id=known.merchant_id, **given)
    return lambda _: address
