"""The claim's files: their list, and saving one. Only this claim's, and nothing of one that is
closed."""

from uuid import UUID

from starlette.responses import Response

from dunwell.core.files.attachment import MAX_ATTACHMENTS, AttachedFile
from dunwell.core.files.read_attachments import read_attachment
from dunwell.core.files.storage import ContentMissing
from dunwell.core.files.store import LOAD_ATTACHED
from dunwell.interfaces.landing.claim.views import describe_documents, name_document
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    check_feature,
    from_level,
    in_session_with,
)
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.responses import answer_file
from dunwell.platform.database.sql import nest_rows
from dunwell.platform.errors import NotFound

_PLACE = "documents"
DOCUMENTS: Detail[list[AttachedFile]] = Detail(
    nest_rows(LOAD_ATTACHED, *KEY, str(MAX_ATTACHMENTS)), list[AttachedFile]
)


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _PLACE)
async def show_documents(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    check_feature(opened, "DOCUMENTS")
    return _answer_list(site, visit, opened)


@in_session_with(DOCUMENTS)
@from_level(Level.FACT, _PLACE)
async def send_document(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    check_feature(opened, "DOCUMENTS")
    attachment_id = _read_id(visit.path_params["attachment_id"])
    # The connection is given back before the file storage is called.
    async with site.resources.database.connection() as connection:
        work = site.work(connection, opened.merchant, opened.session.session_id)
        attached = await read_attachment(work, opened.facts.claim_id, attachment_id)
    try:
        content = await site.storage.load(attached.storage_key)
    except ContentMissing:
        return _answer_list(site, visit, opened, missing=attached)
    return answer_file(content, attached.content_type, name_document(attached))


def _answer_list(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, missing: AttachedFile | None = None
) -> Response:
    """missing: one whose file should be there."""
    page = describe_documents(DOCUMENTS.read(opened.detail), missing)
    return site.answer(site.frame_opened(visit, opened), page, 410 if missing else 200)


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such document of this claim.") from None


PAGES: RoutedPages = {
    "documents": {"GET": show_documents},
    "document": {"GET": send_document},
}
