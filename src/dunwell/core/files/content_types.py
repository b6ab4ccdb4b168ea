"""The types of file that are taken, by what they are and by what they are called. Pure."""

from mimetypes import MimeTypes

from dunwell.platform.errors import UnsupportedMediaType

PDF, JPEG, PNG, WEBP = "application/pdf", "image/jpeg", "image/png", "image/webp"
ALLOWED_TYPES = (PDF, JPEG, PNG, WEBP)
# The table that comes with Python, not the host's.
_BY_NAME = MimeTypes()


def refuse(message: str) -> UnsupportedMediaType:
    """The refusal of a file; says what is taken."""
    return UnsupportedMediaType(
        f"{message} Upload a PDF, JPEG, PNG or WebP file.", allowed=list(ALLOWED_TYPES)
    )


def check_claimed_type(file_name: str, content_type: str) -> None:
    """Raises UnsupportedMediaType for a name that says another type than the content is.

    A name without an ending, or with one that names no type, claims nothing.
    """
    _, dot, last = file_name.rpartition(".")
    ending = dot + last.lower()
    claimed = _BY_NAME.types_map[True].get(ending) or _BY_NAME.types_map[False].get(ending)
    if dot and claimed not in (None, content_type):
        raise refuse(f"The file is called {ending} but its content is {content_type}.")
