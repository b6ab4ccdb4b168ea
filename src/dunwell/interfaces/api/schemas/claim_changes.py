"""What is sent to change a claim, and what adding and deleting items answers (CONTRACT 5)."""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from dunwell.cases.intake.submission import Money
from dunwell.core.claims.fields import Reference
from dunwell.interfaces.api.schemas.claims import ClaimItem, ClaimStatus
from dunwell.platform.text.wire import Cents, Given, GivenInstant, Wire


class PauseRequest(Given, frozen=True):
    """Nothing of it is required."""

    until: Annotated[
        GivenInstant | None, Meta(description="When the claim goes on; without: when resumed.")
    ] = None
    reason: Annotated[
        Reference | None, Meta(description="For whoever looks at the claim; no debtor sees it.")
    ] = None


class FeeRequest(Given, frozen=True):
    """A fee of your own."""

    type: Annotated[
        Literal["COLLECTION_FEE", "DUNNING_FEE"], Meta(description="What the fee is for.")
    ]
    value: Annotated[
        Money, Meta(description="Minor units, as a string of 1 to 12 digits, more than 0.")
    ]
    item_id: Annotated[
        Annotated[int, Meta(ge=1, le=2**63 - 1)] | None,
        Meta(description="The PRIMARY item it is for. It is deleted with it."),
    ] = None
    item_date: Annotated[date | None, Meta(description="YYYY-MM-DD. Default: today.")] = None
    reference: Annotated[Reference | None, Meta(description="Debtors see it.")] = None


class AddedItem(Wire, frozen=True):
    """The new item, and where it leaves the claim."""

    item: ClaimItem
    claim_id: int
    claim_status: ClaimStatus
    total: Annotated[Cents, Meta(description="All the claim's items.")]
    outstanding: Annotated[Cents, Meta(description="What is left to pay on the claim.")]
    overpaid: Annotated[Cents, Meta(description="What was paid beyond the claim.")]


class DeletedItems(Wire, frozen=True):
    """What went, and where that leaves the claim."""

    deleted_item_ids: Annotated[
        list[int], Meta(description="The item, and the fees that were added for it.")
    ]
    claim_id: int
    claim_status: Annotated[
        ClaimStatus, Meta(description="COLLECTED when all that is left is paid.")
    ]
    total: Annotated[Cents, Meta(description="All the items that are left.")]
    outstanding: Annotated[Cents, Meta(description="What is left to pay on the claim.")]
    overpaid: Annotated[Cents, Meta(description="What was paid beyond the claim.")]
