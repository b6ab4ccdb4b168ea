"""What single pages show beside the claim itself, each read by the page's one statement.

The SQL of a detail stands with the module whose rows it reads; here it is nested in the statement
of all pages, where `s` is the session's row and $2 the id in the page's address.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

from dunwell.disputes.dispute import Dispute
from dunwell.disputes.evidence import EvidenceFile
from dunwell.disputes.evidence_store import LOAD_FILES
from dunwell.disputes.store import LOAD_DISPUTE
from dunwell.errors import NotFound
from dunwell.files.attached import MAX_ATTACHMENTS, AttachedFile
from dunwell.files.store_attachments import LOAD_PAGE
from dunwell.kit.sql import compose, load_statement, nest, nest_row, nest_rows
from dunwell.landing.entering.store_tries import LOAD_DELIVERY
from dunwell.landing.reaching.store_typed import LOAD_WAITING, WaitingAddress
from dunwell.messages.suppression import LOAD_KNOWN, KnownSuppressions
from dunwell.modalities.store import LOAD_LIVE, LOAD_ONE, ModalityRow
from dunwell.payments.find_request import LOAD_RECEIPT, Receipt

_Shape = TypeVar("_Shape")
_KEY = ("s.merchant_id", "s.claim_id")
_compose_page = partial(
    load_statement,
    __file__,
    "opened.sql",
    live_modality=nest_row(LOAD_LIVE, "s.merchant_id", "ARRAY[s.claim_id]"),
)


class Detail(Generic[_Shape]):
    """`statement`: of a page that shows it. `parameter`: what the page's address calls its id; ""
    for what a claim has once."""

    def __init__(self, expression: str, shape: Any, parameter: str = "", missing: str = "") -> None:
        """shape: `_Shape`, which may be a union. missing: what is said where there is none; "" for
        what a page shows the lack of."""
        self.statement = _compose_page(detail=expression)
        self.parameter = parameter
        self._missing = missing
        self._decoder = msgspec.json.Decoder(shape)

    def list_arguments(self, parameters: Mapping[str, str]) -> tuple[UUID | None, ...]:
        """Of the statement, beside the session, from those of the address. What is no id names
        nothing."""
        if not self.parameter:
            return ()
        try:
            return (UUID(parameters[self.parameter]),)
        except ValueError:
            return (None,)

    def read(self, found: msgspec.Raw) -> _Shape:
        """Raises NotFound, also for what is another claim's."""
        if self._missing and bytes(found) == b"null":
            raise NotFound(self._missing)
        shape: _Shape = self._decoder.decode(found)
        return shape


class DisputeWithFiles(msgspec.Struct, frozen=True, gc=False):
    """A dispute, and its evidence, the oldest first."""

    dispute: Dispute
    files: list[EvidenceFile]


NOTHING: Detail[None] = Detail("NULL", None)
DOCUMENTS: Detail[list[AttachedFile]] = Detail(
    nest_rows(LOAD_PAGE, *_KEY, "NULL", "NULL", str(MAX_ATTACHMENTS)), list[AttachedFile]
)
DISPUTE: Detail[DisputeWithFiles] = Detail(
    compose(
        "(SELECT json_build_object('dispute', row_to_json(one), 'files', {files})"
        " FROM {dispute} one)",
        dispute=nest(LOAD_DISPUTE, *_KEY, "$2"),
        files=nest_rows(LOAD_FILES, "s.merchant_id", "ARRAY[one.dispute_id]"),
    ),
    DisputeWithFiles, "dispute_id", "There is no such dispute of this claim.",
)  # fmt: skip
# One that has ended: what is live comes with every page.
ENDED_MODALITY: Detail[ModalityRow] = Detail(
    nest_row(compose("{one} AND p.ended_at IS NOT NULL", one=LOAD_ONE), *_KEY, "$2"),
    ModalityRow, "modality_id", "There is no such request of this claim.",
)  # fmt: skip
RECEIPT: Detail[Receipt] = Detail(
    nest_row(LOAD_RECEIPT, *_KEY, "$2"), Receipt, "request_id",
    "There is no such payment of this claim.",
)  # fmt: skip
# Whether the newest code to the address on file was reported not to arrive; null: none was sent.
UNDELIVERED: Detail[bool | None] = Detail(nest(LOAD_DELIVERY, *_KEY), bool | None)
# Of the addresses on file when the session was opened.
SUPPRESSIONS: Detail[KnownSuppressions | None] = Detail(
    nest_row(LOAD_KNOWN, "s.merchant_id", "s.address_digests"), KnownSuppressions | None
)
# A new address whose code is waited for.
WAITING: Detail[WaitingAddress | None] = Detail(
    nest_row(LOAD_WAITING, *_KEY, "s.session_id"), WaitingAddress | None
)
