"""What the pages of a dispute read with the claim."""

import msgspec

from dunwell.disputes.dispute import Dispute
from dunwell.disputes.evidence import EvidenceFile
from dunwell.disputes.evidence_store import LOAD_FILES
from dunwell.disputes.store import LOAD_DISPUTE
from dunwell.kit.sql import compose, nest, nest_rows
from dunwell.landing.session.details import KEY, Detail


class DisputeWithFiles(msgspec.Struct, frozen=True, gc=False):
    """A dispute, and its evidence, the oldest first."""

    dispute: Dispute
    files: list[EvidenceFile]


DISPUTE: Detail[DisputeWithFiles] = Detail(
    compose(
        "(SELECT json_build_object('dispute', row_to_json(one), 'files', {files})"
        " FROM {dispute} one)",
        dispute=nest(LOAD_DISPUTE, *KEY, "$2"),
        files=nest_rows(LOAD_FILES, "s.merchant_id", "ARRAY[one.dispute_id]"),
    ),
    DisputeWithFiles, "dispute_id", "There is no such dispute of this claim.",
)  # fmt: skip
