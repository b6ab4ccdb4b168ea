"""What the page with a file's pictures shows."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec

from dunwell.interfaces.web.templates import Page

# Why a file is not shown; "": it is. UNSHOWABLE: broken, or too much for the one who draws it;
# MISSING: its content is gone; CHANGED: it is not what was kept; NO_PAGE: it has no such page.
Why: TypeAlias = Literal["", "UNSHOWABLE", "MISSING", "CHANGED", "NO_PAGE"]


class FileShown(msgspec.Struct, frozen=True, gc=False):
    """Where a file is found (`ids`: what its addresses need), and what is known of it.

    `viewer`, `picture` and `original` are names of addresses."""

    viewer: str
    picture: str
    original: str
    ids: Mapping[str, object]
    name: str
    size_bytes: int
    # The page it belongs to, by its address's name.
    home: str


class PicturesPage(Page, frozen=True):
    template: ClassVar[str] = "pictures.html"

    file: FileShown
    reference_number: str
    claim_id: int
    why: Why
    # From 1 on; 0: none is shown.
    page: int
    pages: int
    # Those whose small pictures are shown.
    near: Sequence[int]
    is_large: bool
