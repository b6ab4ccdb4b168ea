"""The pages of a dispute's evidence and of a claim's documents, shown as images."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.disputes.list_disputes import get_evidence
from dunwell.core.files.pictures import FULL, THUMBNAIL, FileNotShowable, PictureSize, PictureSource
from dunwell.core.files.read_attachments import get_attachment
from dunwell.core.files.storage import ContentMissing
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, RouteHandler, at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.responses import build_file_response
from dunwell.interfaces.web.templates import Page
from dunwell.platform.crypto import DecryptionFailed
from dunwell.platform.errors import NotFound

# The reason why a file is not shown, "" if it is shown. UNSHOWABLE: it is damaged or too expensive
# to draw. MISSING: its content is gone. CHANGED: its content differs from what was stored. NO_PAGE:
# it does not have this page.
FileProblem: TypeAlias = Literal["", "UNSHOWABLE", "MISSING", "CHANGED", "NO_PAGE"]


class ShownFile(msgspec.Struct, frozen=True, gc=False):
    """A file and where it is shown. `viewer`, `picture` and `original` are names of pages in
    `render/addresses.py`, `ids` the values in their paths. `owner_page` is the name of the page
    of the dispute or claim."""

    viewer: str
    picture: str
    original: str
    ids: Mapping[str, object]
    name: str
    size_bytes: int
    owner_page: str


class PicturesPage(Page, frozen=True):
    template: ClassVar[str] = "pictures.html"

    file: ShownFile
    reference_number: str
    claim_id: int
    problem: FileProblem
    # The page number, starting at 1, or 0 if none is shown.
    page: int
    pages: int
    # The pages whose thumbnails are shown.
    thumbnail_pages: Sequence[int]
    is_large: bool


# The number of thumbnails shown at once.
_MAX_THUMBNAILS = 12
_SIZES = {"small": THUMBNAIL, "large": FULL}
_MAX_DIGITS = 4


@dataclass(frozen=True, slots=True)
class _LoadedFile:
    file_id: str
    file: ShownFile
    storage_key: str
    content_type: str


_LoadFile = Callable[[Work, PortalRequest], Awaitable[_LoadedFile]]


async def _load_evidence(work: Work, request: PortalRequest) -> _LoadedFile:
    """Load a file of a dispute. Raises NotFound."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    file_id = parse_path_id(request, "file_id")
    stored = await get_evidence(work, claim_id, dispute_id, file_id)
    file = ShownFile(
        viewer="dispute_file_pages",
        picture="dispute_file_page",
        original="dispute_file",
        ids={"claim_id": claim_id, "dispute_id": dispute_id, "file_id": file_id},
        name=stored.name,
        size_bytes=stored.size_bytes,
        owner_page="dispute",
    )
    return _LoadedFile(str(file_id), file, stored.storage_key, stored.content_type)


async def _load_document(work: Work, request: PortalRequest) -> _LoadedFile:
    """Load a document of a claim. Raises NotFound."""
    claim_id, attachment_id = parse_claim_id(request), parse_path_id(request, "attachment_id")
    stored = await get_attachment(work, claim_id, attachment_id)
    file = ShownFile(
        viewer="document_pages",
        picture="document_page",
        original="claim_document",
        ids={"claim_id": claim_id, "attachment_id": attachment_id},
        name=stored.friendly_name,
        size_bytes=stored.size_bytes,
        owner_page="claim",
    )
    return _LoadedFile(str(attachment_id), file, stored.storage_key, stored.content_type)


def _build_viewer_handler(load_file: _LoadFile) -> RouteHandler:
    @at_merchant
    async def get_viewer_page(
        site: PortalSite, request: PortalRequest, access: MerchantAccess
    ) -> Response:
        """Show one page of the file. Its thumbnail is drawn first, so that the response can report
        a file that cannot be shown."""
        page = _parse_number(request.get_parameter("page") or "1")
        async with site.open_work(access) as work:
            found = await load_file(work, request)
            claim_id = parse_claim_id(request)
            claim = await open_claim(work, access, claim_id, file=found.file_id)
        problem, pages = await _find_page_problem(site, access, found, page)
        shown = PicturesPage(
            file=found.file,
            reference_number=claim.reference_number,
            claim_id=claim_id,
            problem=problem,
            page=0 if problem else page,
            pages=pages,
            thumbnail_pages=[] if problem else _list_thumbnail_pages(page, pages),
            is_large=request.get_parameter("size") == "large",
        )
        return site.render_merchant_page(
            request, access, shown, 404 if problem == "NO_PAGE" else 200
        )

    return get_viewer_page


def _build_picture_handler(load_file: _LoadFile) -> RouteHandler:
    @at_merchant
    async def send_picture(
        site: PortalSite, request: PortalRequest, access: MerchantAccess
    ) -> Response:
        """Send the image of a page. Raises NotFound, also for a page that cannot be drawn. The
        access was recorded when the viewer was opened."""
        page, size = (
            _parse_number(request.path_params["page"]),
            _parse_size(request.path_params["size"]),
        )
        async with site.open_work(access) as work:
            found = await load_file(work, request)
        try:
            picture = await site.painter.render_png(
                _build_picture_source(site, access, found), page, size
            )
        except (FileNotShowable, ContentMissing, DecryptionFailed):
            raise NotFound("There is no picture of this page.") from None
        return build_file_response(picture, "image/png")

    return send_picture


async def _find_page_problem(
    site: PortalSite, access: MerchantAccess, found: _LoadedFile, page: int
) -> tuple[FileProblem, int]:
    """Return why the page cannot be drawn ("" if it can), and the number of pages (0 if unknown).
    Raises Unavailable."""
    painter, shown = site.painter, _build_picture_source(site, access, found)
    try:
        pages = await painter.count_pages(shown)
        if not 1 <= page <= pages:
            return "NO_PAGE", pages
        await painter.render_png(shown, page, THUMBNAIL)
    except FileNotShowable:
        return "UNSHOWABLE", painter.find_cached_page_count(found.storage_key) or 0
    except ContentMissing:
        return "MISSING", 0
    except DecryptionFailed:
        return "CHANGED", 0
    return "", pages


def _build_picture_source(
    site: PortalSite, access: MerchantAccess, found: _LoadedFile
) -> PictureSource:
    return PictureSource(
        found.storage_key, found.content_type, lambda: site.storage.load(found.storage_key),
        viewer=access.person.user_id, size_bytes=found.file.size_bytes,
    )  # fmt: skip


def _list_thumbnail_pages(page: int, pages: int) -> range:
    """Return the pages whose thumbnails are shown together with this page."""
    first = (page - 1) // _MAX_THUMBNAILS * _MAX_THUMBNAILS + 1
    return range(first, min(first + _MAX_THUMBNAILS, pages + 1))


def _parse_number(given: str) -> int:
    """Parse a page number. Raises NotFound."""
    if not (given.isascii() and given.isdigit() and len(given) <= _MAX_DIGITS):
        raise NotFound("There is no such page.")
    return int(given)


def _parse_size(given: str) -> PictureSize:
    """Parse the size of an image. Raises NotFound."""
    if given not in _SIZES:
        raise NotFound("There is no such picture.")
    return _SIZES[given]


PAGES: RoutedPages = {
    "dispute_file_pages": {"GET": _build_viewer_handler(_load_evidence)},
    "dispute_file_page": {"GET": _build_picture_handler(_load_evidence)},
    "document_pages": {"GET": _build_viewer_handler(_load_document)},
    "document_page": {"GET": _build_picture_handler(_load_document)},
}
