"""Build HTTP responses in the envelope of `error` and `result`, one of which is null (spec, Errors
1)."""

from typing import Any

import msgspec
import structlog
from starlette.responses import Response

from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.upload import render_disposition, render_download_name
from dunwell.interfaces.api.failures import INTERNAL_ERROR, get_failure_kind
from dunwell.interfaces.api.schemas.failures import Failure
from dunwell.platform.errors import AuthenticationError, Refusal

JSON = "application/json"
# If a browser displays the file in spite of the header, it runs without scripts, forms, origin and
# network.
_FILE_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
_encoder = msgspec.json.Encoder()
_log = structlog.get_logger("dunwell.interfaces.api")


def build_result_response(result: Any) -> Response:
    return Response(b'{"error":null,"result":' + _encoder.encode(result) + b"}", media_type=JSON)


async def build_file_response(
    storage: SealedFiles, key: str, name: str, content_type: str
) -> Response:
    """Return a stored file, which the browser saves and never displays. `name` is the file's name
    as the reader knows it, with or without an extension. Call it without holding a connection.

    Raises ContentMissing, Unavailable.
    """
    disposition = render_disposition(render_download_name(name, content_type))
    content = await storage.load(key)
    return Response(
        content,
        headers={"Content-Disposition": disposition, "Content-Security-Policy": _FILE_POLICY},
        media_type=content_type,
    )


def build_refusal_response(refusal: Refusal) -> Response:
    return Response(
        _encode_failure(build_failure(refusal)),
        get_failure_kind(type(refusal)).status,
        _build_refusal_headers(refusal),
        media_type=JSON,
    )


def build_crash_response(error: BaseException, request_id: str, route: str) -> Response:
    """Build the response to an unexpected exception, and log the exception without its message,
    which may quote what the client sent."""
    _log.error("request crashed", request_id=request_id, route=route, exc_info=error)
    failure = Failure(
        type=INTERNAL_ERROR.name,
        message="An internal error occurred. Repeat the request. If it fails again, report "
        "details.requestId to the operator.",
        details={"requestId": request_id},
    )
    return Response(_encode_failure(failure), INTERNAL_ERROR.status, media_type=JSON)


def build_failure(refusal: Refusal) -> Failure:
    """Convert the refusal to its wire form, used in the envelope and in a claim's creation
    result."""
    return Failure(
        type=get_failure_kind(type(refusal)).name, message=refusal.message, details=refusal.details
    )


def _encode_failure(failure: Failure) -> bytes:
    return b'{"error":' + _encoder.encode(failure) + b',"result":null}'


def _build_refusal_headers(refusal: Refusal) -> dict[str, str]:
    retry_after: int | None = getattr(refusal, "retry_after", None)
    if retry_after is not None:
        return {"Retry-After": str(retry_after)}
    if isinstance(refusal, AuthenticationError):
        return {"WWW-Authenticate": "Bearer"}
    return {}
