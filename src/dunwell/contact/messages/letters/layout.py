"""The layout of a letter's first page as data: the window of the envelope, the address within it,
fold marks, and zones kept free for the post and the print provider. A layout is a file in
`layouts/` and is checked when it is loaded. Lengths are in millimetres from the upper left corner
of the sheet."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

_FOLDER = Path(__file__).parent / "layouts"
_PAGE = (210.0, 297.0)
# The text margins of every layout.
_LEFT, _RIGHT = 25.0, 20.0
# The left end and the length of the marks.
_FOLD_MARK, _PUNCH_MARK = (4.0, 4.0), (4.0, 6.0)

Millimetres = Annotated[float, Meta(ge=0, le=297)]


class LayoutBox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    left: Millimetres
    top: Millimetres
    width: Millimetres
    height: Millimetres

    def overlaps(self, other: "LayoutBox") -> bool:
        return (
            self.left < other.left + other.width
            and other.left < self.left + self.width
            and self.top < other.top + other.height
            and other.top < self.top + self.height
        )

    def contains(self, other: "LayoutBox") -> bool:
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.left + other.width <= self.left + self.width
            and other.top + other.height <= self.top + self.height
        )


class FreeZone(LayoutBox, frozen=True, forbid_unknown_fields=True):
    why: str


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The boxes of a layout. `visible` is all that can show through the window while the sheet
    moves in its envelope."""

    window: LayoutBox
    visible: LayoutBox
    return_line: LayoutBox
    address: LayoutBox
    information: LayoutBox
    letterhead: LayoutBox
    first_line: Millimetres
    fold_marks: Sequence[Millimetres]
    punch_mark: Millimetres | None
    free_zones: Sequence[FreeZone]


class InvalidLayout(ValueError):  # noqa: N818 - the suffix Error would add nothing
    """The file is not a valid layout; the message says why."""


def list_layouts() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


@cache
def load_layout(name: str) -> bytes:
    """Return the checked content of the layout's file. Raises LookupError, InvalidLayout."""
    if name not in list_layouts():
        raise LookupError(f"There is no layout named {name}.")
    content = (_FOLDER / f"{name}.json").read_bytes()
    parse_layout(content)
    return content


def parse_layout(content: bytes) -> Layout:
    """Parse a layout file. Raises InvalidLayout with all faults."""
    try:
        layout = msgspec.json.decode(content, type=Layout)
    except msgspec.MsgspecError as error:
        raise InvalidLayout(str(error)) from error
    if faults := list(_list_faults(layout)):
        raise InvalidLayout(" ".join(faults))
    return layout


def _list_faults(layout: Layout) -> Iterator[str]:
    sheet, zones = LayoutBox(0, 0, *_PAGE), dict(_list_boxes(layout))
    for name, zone in (zones | {"window": layout.window, "visible": layout.visible}).items():
        if not sheet.contains(zone):
            yield f"{name} leaves the sheet."
    for name in ("returnLine", "address"):
        if not layout.window.contains(zones[name]):
            yield f"{name} leaves the window."
    if not layout.visible.contains(layout.window):
        yield "The window extends beyond the visible area."
    if zones["returnLine"].overlaps(zones["address"]):
        yield "returnLine and address overlap."
    yield from _list_overlaps(layout, zones)


def _list_overlaps(layout: Layout, zones: Mapping[str, LayoutBox]) -> Iterator[str]:
    for name, zone in zones.items():
        if name not in ("returnLine", "address") and zone.overlaps(layout.visible):
            yield f"{name} can be seen in the window."
        for free in layout.free_zones:
            if zone.overlaps(free):
                yield f"{name} is in a zone that must stay free: {free.why}."


def _list_boxes(layout: Layout) -> Iterator[tuple[str, LayoutBox]]:
    """Yield the printed boxes with their names."""
    yield "returnLine", layout.return_line
    yield "address", layout.address
    yield "information", layout.information
    yield "letterhead", layout.letterhead
    width, height = _PAGE[0] - _LEFT - _RIGHT, _PAGE[1] - layout.first_line
    yield "text", LayoutBox(_LEFT, layout.first_line, width, max(0.0, height))
    for number, top in enumerate(layout.fold_marks, start=1):
        yield f"fold mark {number}", LayoutBox(_FOLD_MARK[0], top, _FOLD_MARK[1], 0.2)
    if layout.punch_mark is not None:
        yield "punch mark", LayoutBox(_PUNCH_MARK[0], layout.punch_mark, _PUNCH_MARK[1], 0.2)
