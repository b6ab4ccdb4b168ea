"""Answers with a stored file: saved by a browser and never shown in place, whatever it holds."""

from starlette.responses import Response

from dunwell.files.names import name_for_reader, render_disposition
from dunwell.files.storage import Storage

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # Were it shown after all, it would be without scripts, forms, origin and network.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


async def answer_file(storage: Storage, key: str, name: str, content_type: str) -> Response:
    """name: as its reader knows it, with or without an ending. Call it without a connection.

    Raises ContentMissing, Unavailable.
    """
    disposition = render_disposition(name_for_reader(name, content_type))
    content = await storage.load(key)
    return Response(
        content, headers={"Content-Disposition": disposition, **_HEADERS}, media_type=content_type
    )
