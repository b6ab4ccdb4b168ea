"""Receive a form that may contain files. Each file is checked, re-encoded and stored before the
next one is read, so that a form needs the memory of one file only.

Stored files expire after the end of the session unless a draft or a dispute refers to them by then.
This also holds after a crash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from dunwell.cases.disputes.dispute import MAX_FILES_AT_ONCE
from dunwell.core.files.upload import (
    MAX_FILE_BYTES,
    NewUpload,
    PreparedUpload,
    StorageFull,
    clean_file_name,
)
from dunwell.core.files.uploads import (
    check_storage_room,
    check_upload,
    discard_uploads,
    store_unused_file,
)
from dunwell.interfaces.landing.session.session import looks_like_token
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.requests import ForeignForm
from dunwell.platform.errors import (
    InvalidRequest,
    PayloadTooLarge,
    RateLimited,
    Unavailable,
    UnsupportedMediaType,
    ValidationError,
)
from dunwell.platform.http.multipart import UPLOADS, FormLimits, FormPart, SpoolShare

# A stored file to which no draft and no dispute refers is kept for at least this long.
_MIN_LIFETIME = timedelta(hours=1)
_MAX_TEXT_BYTES = 64 * 1024
_MAX_PARTS = 30
# The limit for a form without a session. In our forms texts come before files and are far shorter
# than this.
_MAX_IGNORED_BYTES = 256 * 1024
_MAX_BODY_BYTES = MAX_FILES_AT_ONCE * MAX_FILE_BYTES + 256 * 1024


@dataclass(frozen=True, slots=True)
class FileRefusal:
    """A file that was refused, or all files if `name` is None. `code` is TOO_LARGE, TOO_MANY, TYPE,
    EMPTY, UNAVAILABLE (files cannot be checked at the moment), or FULL (the merchant has no
    storage left).
    """

    code: str
    name: str | None = None


@dataclass(slots=True)
class ReceivedForm:
    """A form as it was received. `opened` is the claim as loaded after the form was read, or None
    if the session was deleted by then. The session may have ended. `is_stale` says that the form
    belongs to a session which this one has replaced: what was entered may be saved, but nothing may
    be submitted."""

    fields: dict[str, str] = field(default_factory=dict)
    uploads: list[PreparedUpload] = field(default_factory=list)
    refusals: list[FileRefusal] = field(default_factory=list)
    opened: OpenedClaim | None = None
    is_stale: bool = False


async def receive_form(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> ReceivedForm:
    """Receive a form of this session. The token precedes the files.

    Raises ForeignForm and InvalidRequest; nothing is stored then.
    """
    received = await _receive(site, request, opened)
    received.opened = await site.find_opened(request)
    return received


async def receive_texts(request: DebtorRequest) -> dict[str, str]:
    """Receive the texts of a form that belongs to no session. Files are discarded, and only the
    first 256 KiB are read. Raises ForeignForm and InvalidRequest."""
    texts: dict[str, str] = {}
    limits = FormLimits(
        parts=_MAX_PARTS, text_bytes=_MAX_TEXT_BYTES, file_bytes=0, overflow=_discard_overflow,
        open_file=_DiscardingFile,
    )  # fmt: skip
    try:
        async for part in request.read_parts(limits, _MAX_IGNORED_BYTES):
            if part.file_name is None:
                texts[part.name] = _decode(part)
    except PayloadTooLarge:
        pass
    return texts


class _DiscardingFile:
    """A file object that discards its content."""

    def __len__(self) -> int:
        return 0

    def write(self, chunk: bytes) -> None:
        """Discard the chunk."""

    def read(self) -> bytes:
        return b""

    def close(self) -> None:
        """Do nothing."""


async def _receive(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> ReceivedForm:
    received, count = ReceivedForm(), 0
    # Only one file of the form is in memory at a time.
    share = UPLOADS.get_share(opened.debtor_key)
    share.check_room(MAX_FILE_BYTES)
    try:
        async for part in request.read_parts(_build_form_limits(share), _MAX_BODY_BYTES):
            if part.file_name is None:
                received.fields[part.name] = _decode(part)
            elif part.file_name or part.file or part.is_too_large:
                _check_token(site, request, opened, received)
                count += 1
                await _receive_file(site, opened, received, part=part, count=count)
            if part.file is not None:
                part.file.close()
        _check_token(site, request, opened, received)
    except PayloadTooLarge:
        _check_token(site, request, opened, received)
        received.refusals.append(FileRefusal("TOO_LARGE"))
    except BaseException:
        await delete_unused_uploads(site, opened, received.uploads)
        raise
    return received


def _check_token(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, received: ReceivedForm
) -> None:
    """Check the form's token, and mark the form as stale if the token is of another session. Raises
    ForeignForm: the form may come from a foreign site."""
    try:
        site.check_token(opened.session, received.fields)
    except ForeignForm:
        if not (request.has_trusted_origin and looks_like_token(received.fields.get("token", ""))):
            raise
        received.is_stale = True


async def delete_unused_uploads(
    site: DebtorSite, opened: OpenedClaim, uploads: Sequence[PreparedUpload]
) -> None:
    """Delete stored files that nothing refers to."""
    ticket_ids = [upload.ticket_id for upload in uploads]
    await discard_uploads(
        site.resources.database, site.storage, opened.merchant.merchant_id, ticket_ids
    )


async def _receive_file(
    site: DebtorSite, opened: OpenedClaim, received: ReceivedForm, part: FormPart, count: int
) -> None:
    name = clean_file_name(part.file_name or "")
    code = (
        await _check_and_store(site, opened, received, name=name, part=part)
        if count <= MAX_FILES_AT_ONCE
        else None
    )
    if count == MAX_FILES_AT_ONCE + 1:
        received.refusals.append(FileRefusal("TOO_MANY"))
    elif code is not None:
        received.refusals.append(FileRefusal(code, name))


async def _check_and_store(
    site: DebtorSite, opened: OpenedClaim, received: ReceivedForm, name: str, part: FormPart
) -> str | None:
    """Check and store a file. Return the code of its refusal, or None."""
    if part.is_too_large:
        return "TOO_LARGE"
    if not part.file:
        return "EMPTY"
    ticket_id, database = site.resources.ids.new(site.now()), site.resources.database
    merchant_id = opened.merchant.merchant_id
    limit_bytes = site.resources.settings.merchant_storage_bytes
    upload = NewUpload(name, name, part.file)
    try:
        # Check the free storage before the expensive check of the file. The size may still change
        # when the file is re-encoded.
        await check_storage_room(database, merchant_id, 1, limit_bytes)
        checked = await check_upload(
            site.inspector, merchant_id, ticket_id, upload, sender=opened.debtor_key
        )
        await store_unused_file(
            database,
            site.storage,
            checked,
            now=site.now(),
            expires_at=max(opened.session.expires_at, site.now() + _MIN_LIFETIME),
            limit_bytes=limit_bytes,
        )
    except StorageFull:
        return "FULL"
    except (UnsupportedMediaType, ValidationError):
        return "TYPE"
    except (RateLimited, Unavailable):
        return "UNAVAILABLE"
    received.uploads.append(checked.prepared)
    return None


def _decode(part: FormPart) -> str:
    """Decode a text. Browsers send CR LF for each line end, which becomes LF."""
    if part.is_too_large:
        raise InvalidRequest("A text of the form is too long.")
    try:
        return part.content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InvalidRequest("The form cannot be read.") from None


def _discard_overflow(_part: FormPart, _limit: int) -> None:
    """Discard the rest of the part, which is marked with `is_too_large`."""


def _build_form_limits(share: SpoolShare) -> FormLimits:
    return FormLimits(
        parts=_MAX_PARTS,
        text_bytes=_MAX_TEXT_BYTES,
        file_bytes=MAX_FILE_BYTES,
        overflow=_discard_overflow,
        open_file=share.open,
    )
