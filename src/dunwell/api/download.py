"""Answers with a stored file: saved by a browser and never shown in place, whatever it holds."""

from dunwell.api.answer import Answer, Headers
from dunwell.files.names import name_for_reader, render_disposition
from dunwell.files.storage import Storage

_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    # Were it shown after all, it would be without scripts, forms, origin and network.
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


async def answer_file(storage: Storage, key: str, name: str, content_type: str) -> Answer:
    """name: as its reader knows it, with or without an ending. Call it without a connection.

    Raises ContentMissing, Unavailable.
    """
    disposition = render_disposition(name_for_reader(name, content_type)).encode()
    headers = ((b"content-disposition", disposition), *_HEADERS)
    content = await storage.load(key)
    return Answer(200, content, headers, content_type=content_type.encode())
