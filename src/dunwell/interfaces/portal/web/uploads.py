"""Forms that may carry small files, which are held in memory."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TypeAlias

from starlette.responses import Response

from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RouteHandler, open_form
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.stale_forms import delete_typed_values, render_stale_form_page
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import PayloadTooLarge
from dunwell.platform.http.multipart import MEDIA_TYPE, FormLimits, FormPart

# The limit of each text and of each file.
MAX_PART_BYTES = 1024 * 1024
_MAX_PARTS = 40
# The allowance for boundaries, part headers and short fields.
_MAX_REST_BYTES = 64 * 1024


class _MemoryFile:
    """The content of a file while it is received."""

    def __init__(self) -> None:
        self._content = bytearray()

    def __len__(self) -> int:
        return len(self._content)

    def write(self, chunk: bytes) -> None:
        self._content += chunk

    def read(self) -> bytes:
        return bytes(self._content)

    def close(self) -> None:
        self._content.clear()


@dataclass(frozen=True, slots=True)
class Upload:
    """A received form. `files` has the content of each file by field name. `too_large` are the
    fields whose file exceeded the limit and was dropped."""

    fields: FormFields
    files: Mapping[str, bytes] = field(default_factory=dict)
    # The names of the files on the sender's computer, by field name.
    file_names: Mapping[str, str] = field(default_factory=dict)
    too_large: frozenset[str] = frozenset()


UploadHandler: TypeAlias = Callable[
    [PortalSite, PortalRequest, MerchantAccess, Upload], Awaitable[Response]
]


def takes_upload_at_merchant(
    handler: UploadHandler, max_file_bytes: int = MAX_PART_BYTES
) -> RouteHandler:
    """Guard a handler like `takes_form_at_merchant`, for a form that may carry files."""

    @wraps(handler)
    async def run(site: PortalSite, request: PortalRequest) -> Response:
        async with open_form(
            site, request, partial(_read_upload, request, max_file_bytes), Upload(FormFields({}))
        ) as upload:
            person = await site.find_person(request)
            if person is None or not person.is_form_token(upload.fields["token"]):
                return await render_stale_form_page(site, request, upload.fields, person)
            response = await handler(
                site, request, await site.get_merchant_access(request, person), upload
            )
            if person.has_kept_forms and response.status_code == 303:
                await delete_typed_values(site, request, person)
            return response

    return run


async def _read_upload(request: PortalRequest, max_file_bytes: int) -> Upload:
    """Read the form. Raises ForeignForm, InvalidRequest and PayloadTooLarge."""
    if not request.headers.get("content-type", "").lower().startswith(MEDIA_TYPE):
        return Upload(await request.read_session_form())
    values, files, too_large = dict[str, list[str]](), dict[str, bytes](), set[str]()
    file_names = dict[str, str]()
    async for part in request.read_parts(
        _build_limits(max_file_bytes), MAX_PART_BYTES + max_file_bytes + _MAX_REST_BYTES
    ):
        if part.file_name is None:
            values.setdefault(part.name, []).append(part.content.decode("utf-8", "replace"))
        elif part.is_too_large:
            too_large.add(part.name)
        elif part.file is not None:
            content = part.file.read()
            part.file.close()
            # A file field without a chosen file sends an empty one.
            if content:
                files[part.name] = content
                file_names[part.name] = part.file_name
    cleaned_values = {
        name: [each.replace("\0", "") for each in texts] for name, texts in values.items()
    }
    return Upload(FormFields(cleaned_values), files, file_names, frozenset(too_large))


def _refuse_large_text(part: FormPart, limit: int) -> None:
    if part.file_name is None:
        raise PayloadTooLarge("The form is too large.", limit=limit)


def _build_limits(max_file_bytes: int) -> FormLimits:
    return FormLimits(
        parts=_MAX_PARTS, text_bytes=MAX_PART_BYTES, file_bytes=max_file_bytes,
        overflow=_refuse_large_text, open_file=_MemoryFile,
    )  # fmt: skip
