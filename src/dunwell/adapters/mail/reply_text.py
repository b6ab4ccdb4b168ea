"""Extract what a person wrote in a reply: the newest text, without the quoted message below.
Pure."""

import re
from collections.abc import Iterator
from contextlib import suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from html.parser import HTMLParser

from mailparser_reply import EmailReplyParser

# How much text is searched. The whole message is stored as received.
_MOST_SEARCHED = 40_000
# The time to remove quotes grows with the square of a line's length and of the number of blank
# lines.
_MOST_PARSED = 12_000
_LONGEST_LINE = re.compile(r"([^\n]{500})(?=[^\n])")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_MOST_KEPT = 10_000
_MOST_SUBJECT = 255
_MOST_FILES = 50
_MOST_NAME = 120
_BLOCKS = frozenset({"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "table"})
_UNSEEN = frozenset({"script", "style", "head", "title", "template"})
_QUOTED = frozenset({"blockquote"})


def read_subject(message: Message) -> str:
    return _clean(_decode(str(message["Subject"] or "")))[:_MOST_SUBJECT]


def read_reply_text(message: Message) -> str:
    """Return the text of a reply, "" if there is none. It has no control characters, but must be
    escaped in HTML."""
    plain = _find_part(message, "text/plain")
    text = plain if plain.strip() else read_html(_find_part(message, "text/html"))
    text = _clean(text[:_MOST_SEARCHED].replace("\r\n", "\n").replace("\r", "\n"), keep="\n\t")
    text = _BLANK_LINES.sub("\n\n", _LONGEST_LINE.sub(r"\1\n", text))[:_MOST_PARSED]
    newest = str(EmailReplyParser(languages=["en", "de"]).parse_reply(text) or "").strip()
    return (newest or text.strip())[:_MOST_KEPT]


def list_file_names(message: Message) -> list[str]:
    """Return the names of the attachments. The files themselves are not opened."""
    names = []
    for part in message.walk():
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            named = _clean(_decode(str(name or part.get_content_type())))
            names.append(named.replace("/", "_").replace("\\", "_")[:_MOST_NAME])
    return names[:_MOST_FILES]


def read_html(html: str) -> str:
    """Return the text of an HTML document, one line for each block."""
    reader = _Words()
    # The parser fails at some malformed declarations. The text before them is kept.
    with suppress(AssertionError):
        reader.feed(html[:_MOST_SEARCHED])
        reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0
        self._quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._hidden += tag in _UNSEEN
        self._quoted += tag in _QUOTED
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _UNSEEN))
        self._quoted = max(0, self._quoted - (tag in _QUOTED))
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(f"\n> {data}" if self._quoted and data.strip() else data)


def _find_part(message: Message, kind: str) -> str:
    for part in message.walk():
        if part.get_content_type() == kind and part.get_content_disposition() != "attachment":
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                return _decode_bytes(payload, part.get_content_charset() or "utf-8")
    return ""


def _decode_bytes(payload: bytes, charset: str) -> str:
    payload = payload[: _MOST_SEARCHED * 4]
    try:
        return payload.decode(charset, errors="replace")
    except (LookupError, ValueError):
        return payload.decode("utf-8", errors="replace")


def _decode(text: str) -> str:
    try:
        return str(make_header(decode_header(text[: _MOST_SUBJECT * 8])))
    except (LookupError, ValueError, MessageError):
        return text


def _clean(text: str, keep: str = "") -> str:
    return "".join(_shown(text, keep))


def _shown(text: str, keep: str) -> Iterator[str]:
    for character in text:
        if character.isprintable() or character in keep:
            yield character
        elif character.isspace():
            yield " "
