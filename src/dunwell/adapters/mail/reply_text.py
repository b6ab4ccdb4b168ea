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
_MAX_SEARCHED = 40_000
# How much text is passed to the library that removes quotes. Its time grows with the square of a
# line's length and of the number of blank lines.
_MAX_PARSED = 12_000
_MAX_LINE = re.compile(r"([^\n]{500})(?=[^\n])")
_BLANK_LINES = re.compile(r"[ \t]*\n(?:[ \t]*\n)+")
_MAX_TEXT_LENGTH = 10_000
_MAX_SUBJECT_LENGTH = 255
_MAX_FILES = 50
_MAX_NAME_LENGTH = 120
_BLOCK_TAGS = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "table"}
)
_HIDDEN_TAGS = frozenset({"script", "style", "head", "title", "template"})
_QUOTE_TAGS = frozenset({"blockquote"})


def parse_subject(message: Message) -> str:
    return _clean(_decode(str(message["Subject"] or "")))[:_MAX_SUBJECT_LENGTH]


def parse_reply_text(message: Message) -> str:
    """Return the text of a reply, "" if there is none. It has no control characters, but must be
    escaped in HTML."""
    plain = _find_part(message, "text/plain")
    text = plain if plain.strip() else extract_text(_find_part(message, "text/html"))
    text = _clean(text[:_MAX_SEARCHED].replace("\r\n", "\n").replace("\r", "\n"), keep="\n\t")
    text = _BLANK_LINES.sub("\n\n", _MAX_LINE.sub(r"\1\n", text))[:_MAX_PARSED]
    newest = str(EmailReplyParser(languages=["en", "de"]).parse_reply(text) or "").strip()
    return (newest or text.strip())[:_MAX_TEXT_LENGTH]


def list_file_names(message: Message) -> list[str]:
    """Return the names of the attachments. The files themselves are not opened."""
    names = []
    for part in message.walk():
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            cleaned = _clean(_decode(str(name or part.get_content_type())))
            names.append(cleaned.replace("/", "_").replace("\\", "_")[:_MAX_NAME_LENGTH])
    return names[:_MAX_FILES]


def extract_text(html: str) -> str:
    """Return the text of an HTML document, one line for each block."""
    reader = _TextExtractor()
    # The parser fails at some malformed declarations. The text before them is kept.
    with suppress(AssertionError):
        reader.feed(html[:_MAX_SEARCHED])
        reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


class _TextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0
        self._quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._hidden += tag in _HIDDEN_TAGS
        self._quoted += tag in _QUOTE_TAGS
        if tag in _BLOCK_TAGS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _HIDDEN_TAGS))
        self._quoted = max(0, self._quoted - (tag in _QUOTE_TAGS))
        if tag in _BLOCK_TAGS:
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
    payload = payload[: _MAX_SEARCHED * 4]
    try:
        return payload.decode(charset, errors="replace")
    except (LookupError, ValueError):
        return payload.decode("utf-8", errors="replace")


def _decode(text: str) -> str:
    try:
        return str(make_header(decode_header(text[: _MAX_SUBJECT_LENGTH * 8])))
    except (LookupError, ValueError, MessageError):
        return text


def _clean(text: str, keep: str = "") -> str:
    return "".join(_list_printable(text, keep))


def _list_printable(text: str, keep: str) -> Iterator[str]:
    for character in text:
        if character.isprintable() or character in keep:
            yield character
        elif character.isspace():
            yield " "
