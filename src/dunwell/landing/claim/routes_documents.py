"""The claim's files: their list, and saving one. Only this claim's, and nothing of one that is
closed."""

from uuid import UUID

from dunwell.errors import NotFound
from dunwell.files.attached import AttachedFile
from dunwell.files.read_attachment import read_attachment
from dunwell.files.read_attachments import read_attachment
from dunwell.files.storage import ContentMissing
from dunwell.landing.claim.store import DOCUMENTS
from dunwell.landing.claim.views import describe_documents, name_document
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer, answer_file
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.features import check_feature
from dunwell.landing.web.in_session import from_level, in_session_with
from dunwell.landing.web.visit import Visit

_PLACE = "documents"


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _PLACE)
async def show_documents(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    check_feature(opened, "DOCUMENTS")
    return _answer_list(desk, visit, opened)


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _PLACE)
async def send_document(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    check_feature(opened, "DOCUMENTS")
    attachment_id = _read_id(visit.parameters["attachment_id"])
    # The connection is given back before the file storage is called.
    async with desk.resources.database.connection() as connection:
        work = desk.work(connection, opened.merchant, opened.session.session_id)
        attached = await read_attachment(work, opened.facts.claim_id, attachment_id)
    try:
        content = await desk.storage.load(attached.storage_key)
    except ContentMissing:
        return _answer_list(desk, visit, opened, missing=attached)
    return answer_file(content, attached.content_type, name_document(attached))


def _answer_list(
    desk: Desk, visit: Visit, opened: OpenedClaim, missing: AttachedFile | None = None
) -> Answer:
    """missing: one whose file should be there."""
    page = describe_documents(DOCUMENTS.read(opened.detail), missing)
    return desk.answer(desk.frame_opened(visit, opened), page, 410 if missing else 200)


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such document of this claim.") from None
