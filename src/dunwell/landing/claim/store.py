"""What the pages of documents read with the claim."""

from dunwell.files.attached import MAX_ATTACHMENTS, AttachedFile
from dunwell.files.store_attachments import LOAD_PAGE
from dunwell.kit.sql import nest_rows
from dunwell.landing.session.details import KEY, Detail

DOCUMENTS: Detail[list[AttachedFile]] = Detail(
    nest_rows(LOAD_PAGE, *KEY, "NULL", "NULL", str(MAX_ATTACHMENTS)), list[AttachedFile]
)
