"""Checks of texts: forbidden characters anywhere in a JSON value, single lines, e-mail addresses;
and numbers with their noun. Pure."""

from collections.abc import Iterator
from email.errors import HeaderParseError, MessageDefect
from email.headerregistry import Address

from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.wire import LINE_BREAKS_AND_TAB, UNPRINTABLE

_MAX_LINE = 255


def find_unprintable(value: object, path: tuple[str | int, ...] = ()) -> Iterator[Fault]:
    """Yield a fault for each string or key with a control character or half a surrogate pair."""
    if isinstance(value, str):
        if not is_printable(value):
            message = "Remove the control characters (line breaks and tabs may stay)."
            yield Fault(render_pointer(path), message, "CONTROL_CHARACTER")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from find_unprintable(inner, (*path, name))
            if isinstance(name, str) and not is_printable(name):
                message = "Remove the control characters from the names in this object."
                yield Fault(render_pointer(path), message, "CONTROL_CHARACTER")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from find_unprintable(inner, (*path, index))


def check_printable(text: str | None, name: str) -> None:
    """Check the characters of the field `name`. Raises ValidationError if some are forbidden."""
    if faults := list(find_unprintable(text, (name,))):
        raise ValidationError(faults)


def is_printable(text: str) -> bool:
    """Return whether the text has only characters that can be printed, line breaks and tabs, and
    can be encoded in UTF-8."""
    return text.isprintable() or UNPRINTABLE.search(text) is None


def is_line(text: str) -> bool:
    """Return whether the text is one line of at most 255 characters, without control characters."""
    is_one_line = not any(letter in text for letter in LINE_BREAKS_AND_TAB)
    return len(text) <= _MAX_LINE and is_one_line and is_printable(text)


def is_email_address(text: str) -> bool:
    """Return whether the text is a plain address by RFC 5322, with a domain and without a display
    name."""
    if not text.isprintable() or text != text.strip() or len(text) > 254:
        return False
    try:
        address = Address(addr_spec=text)
    except (HeaderParseError, MessageDefect, ValueError, IndexError):
        return False
    return bool(address.username) and "." in address.domain.strip(".")


def render_count(count: int, thing: str) -> str:
    """Return the number with the noun, such as "1 fee", "2,345 fees" or "2 deliveries"."""
    things = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else things}"
