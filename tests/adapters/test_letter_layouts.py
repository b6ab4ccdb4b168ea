"""Layouts are data. They are checked when they are loaded, and their free zones stay empty on the
page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from PIL import Image

from dunwell.accounts.installation.delivery_providers import LayoutName
from dunwell.contact.messages.letters.layout import (
    InvalidLayout,
    Layout,
    LayoutBox,
    list_layouts,
    load_layout,
    parse_layout,
)
from dunwell.contact.messages.letters.sheet import encode_sheet
from tests.support.children import PRINTER
from tests.support.letters import PrintedLetter, a_letter
from tests.support.tools import run_tool

_LONG = (
    "Gesellschaft für Beteiligungen und Verwaltung mbH & Co. Kommanditgesellschaft",
    "Dr. Ada Konstanze Lovelace-Byron", "Hinterhaus, dritter Stock links",
    "Heidestraße 17", "51147 Köln", "DEUTSCHLAND",
)  # fmt: skip
# One and a half pages of text.
_BODY = "Guten Tag,\n\n" + "wir bitten um Zahlung der offenen Rechnung. " * 60


def test_an_unknown_layout_is_refused_with_the_names_of_all_layouts() -> None:
    assert sorted(get_args(LayoutName)) == list_layouts()


@pytest.mark.parametrize("name", list_layouts())
async def test_the_window_and_the_free_zones_contain_nothing_else(
    tmp_path: Path, name: str
) -> None:
    layout = parse_layout(load_layout(name))
    sheet = encode_sheet(a_letter(_BODY, address=_LONG, layout=name).sheet)
    path = tmp_path / "letter.pdf"
    path.write_bytes(await PRINTER.print_sheet(sheet))
    words = PrintedLetter(path).words()
    seen = [word.text for word in words if word.is_within(*_corners(layout.visible))]
    sender = ["Nordwind", "Schuhe", "GmbH", "·", "Deichstraße", "1", "·", "20459", "Hamburg"]
    assert seen == [*sender, *" ".join(_LONG).split()]
    for zone in layout.free_zones:
        assert [word.text for word in words if word.is_within(*_corners(zone))] == []
    assert _list_dark(path, layout) == []
    (subject,) = [word for word in words if word.text == "Erinnerung"]
    assert subject.top == pytest.approx(layout.first_line, abs=1.5)


@pytest.mark.parametrize("name", list_layouts())
async def test_equal_input_gives_equal_bytes(name: str) -> None:
    sheet = encode_sheet(a_letter(layout=name).sheet)
    first = await PRINTER.print_sheet(sheet)
    await PRINTER.print_sheet(encode_sheet(a_letter(layout="c5-6").sheet))
    assert await PRINTER.print_sheet(sheet) == first


async def test_the_address_of_form_a_is_eighteen_millimetres_higher_than_that_of_form_b(
    tmp_path: Path,
) -> None:
    tops = []
    for name in ("din-5008-a", "din-5008-b"):
        path = tmp_path / f"{name}.pdf"
        sheet = encode_sheet(a_letter(layout=name).sheet)
        path.write_bytes(await PRINTER.print_sheet(sheet))
        tops.append(next(word.top for word in PrintedLetter(path).words() if word.text == "51147"))
    assert tops[1] - tops[0] == pytest.approx(18, abs=0.1)


def _change(**changes: Any) -> bytes:
    layout = msgspec.json.decode(load_layout("din-5008-b"))
    return msgspec.json.encode(layout | changes)


def _box(left: float, top: float, width: float, height: float) -> dict[str, float]:
    return {"left": left, "top": top, "width": width, "height": height}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_change(information=_box(100, 50, 65, 40)), "information can be seen in the window."),
        (_change(information=_box(150, 50, 65, 40)), "information leaves the sheet."),
        (_change(letterhead=_box(25, 30, 80, 18)), "letterhead can be seen in the window."),
        (_change(address=_box(25, 62.7, 90, 27.3)), "address leaves the window."),
        (_change(returnLine=_box(25, 60, 78, 5)), "returnLine and address overlap."),
        (_change(visible=_box(30, 45, 85, 45)), "The window extends beyond the visible area."),
        (_change(firstLine=80), "text can be seen in the window."),
        (_change(freeZones=[_box(0, 100, 15, 20) | {"why": "marks"}]), "fold mark 1 is in"),
        (_change(freeZones=[_box(20, 56, 10, 5) | {"why": "franking"}]), "returnLine is in"),
        (_change(foldMarks=[300]), "297"),
        (_change(stamp=1), "stamp"),
        (b"{", "truncated"),
        (b"{}", "missing"),
    ],
)
def test_a_faulty_layout_is_not_loaded(content: bytes, words: str) -> None:
    with pytest.raises(InvalidLayout) as refused:
        parse_layout(content)
    assert words.lower() in str(refused.value).lower()


def _corners(box: LayoutBox) -> tuple[float, float, float, float]:
    return (box.left, box.top, box.width, box.height)


def _list_dark(path: Path, layout: Layout) -> list[tuple[float, float]]:
    """Return the positions of ink in the free zones, and in the window outside the address."""
    prefix = path.with_suffix("")
    run_tool("pdftoppm", "-r", "127", "-gray", "-singlefile", str(path), str(prefix))
    own = (layout.return_line, layout.address)
    with Image.open(prefix.with_suffix(".pgm")) as sheet:
        free = [_find_dark(sheet, zone, lambda _x, _y: False) for zone in layout.free_zones]
        seen = _find_dark(
            sheet, layout.visible, lambda x, y: any(_holds(each, x, y) for each in own)
        )
    return [spot for zone in [*free, seen] for spot in zone]


def _find_dark(
    sheet: Image.Image, zone: LayoutBox, may_be: Callable[[float, float], bool]
) -> list[tuple[float, float]]:
    """Return the dark positions of a zone in millimetres. The picture has five pixels per
    millimetre."""
    left, top = round(zone.left * 5), round(zone.top * 5)
    right, bottom = round((zone.left + zone.width) * 5), round((zone.top + zone.height) * 5)
    pixels = sheet.crop((left, top, right, bottom)).tobytes()
    width = right - left
    spots = [
        ((left + place % width) / 5, (top + place // width) / 5)
        for place, shade in enumerate(pixels)
        if shade < 200
    ]
    return [spot for spot in spots if not may_be(*spot)]


def _holds(box: LayoutBox, x: float, y: float) -> bool:
    around = 0.3
    return (
        box.left - around <= x <= box.left + box.width + around
        and box.top - around <= y <= box.top + box.height + around
    )
