"""Names in every script are printed with fonts that have the script, or refused, but never printed
as boxes."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tools.write_font_coverage import FOLDER, write_coverage

from dunwell.contact.messages.letters.address import render_address
from dunwell.contact.messages.letters.fonts.font_library import (
    FontChoice,
    FontFace,
    FontLibrary,
    get_script_name,
)
from dunwell.contact.messages.letters.printer import (
    LetterPrinter,
    ScriptMissing,
    describe_missing_scripts,
)
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.core.claims.fields import DebtorName
from tests.support.letters import PrintedLetter, a_letter
from tests.support.messages import CREDITOR
from tests.support.tools import find_noto_fonts, run_tool

_NAMES = {
    "Han": "王小明", "Hangul": "김철수", "Hiragana": "山田さくら", "Arabic": "محمد علي",
    "Thai": "สมชาย", "Devanagari": "राम शर्मा", "Georgian": "ნინო", "Armenian": "Արամ",
    "Tibetan": "བསོད་ནམས", "Tamil": "குமார்",
}  # fmt: skip
# Names in a monospaced font that is bundled.
_ALONG = ("Arabic", "Armenian", "Devanagari", "Georgian")
_HEBREW = "שרה כהן"


@pytest.fixture(scope="module")
async def printer() -> AsyncIterator[LetterPrinter]:
    """One printer for all tests of this file, because its child processes start slowly."""
    printer = LetterPrinter(1, fonts=find_noto_fonts())
    yield printer
    await printer.close()


@pytest.fixture(scope="module")
async def printer_without_fonts() -> AsyncIterator[LetterPrinter]:
    printer = LetterPrinter(1)
    yield printer
    await printer.close()


async def print_to(path: Path, printer: LetterPrinter, *address: str) -> PrintedLetter:
    sheet = encode_sheet(a_letter(address=address).sheet)
    path.write_bytes(await printer.print_sheet(sheet))  # noqa: ASYNC240 - a test's
    return PrintedLetter(path)


@pytest.mark.parametrize("name", [*_NAMES.values(), _HEBREW, "Nguyễn Văn Ắt", "Ελένη", "Ольга"])
async def test_a_name_is_printed_in_its_script(
    printer: LetterPrinter, tmp_path: Path, name: str
) -> None:
    letter = await print_to(tmp_path / "letter.pdf", printer, name, "Heidestraße 17", "51147 Köln")
    fonts = run_tool("pdffonts", str(letter.path)).splitlines()[2:]
    assert len(fonts) >= 1
    foreign = name in _NAMES.values()
    assert any("Noto" in font for font in fonts) == foreign
    shown = "".join(letter.text().split())
    # Text extraction may reorder words of right-to-left scripts, but all letters are there.
    assert sorted(set("".join(name.split())) - set(shown)) == []


@pytest.mark.parametrize(
    ("script", "name"), [each for each in _NAMES.items() if each[0] not in _ALONG]
)
async def test_a_letter_in_a_script_without_a_font_is_refused(
    printer_without_fonts: LetterPrinter, script: str, name: str
) -> None:
    """The reason names the script but not the name."""
    with pytest.raises(ScriptMissing) as refused:
        await printer_without_fonts.print_sheet(
            encode_sheet(a_letter(address=[name, "x", "y"]).sheet)
        )
    words = describe_missing_scripts(refused.value)
    assert script in words
    assert not set(name) & set(words) - {" "}


async def test_a_letter_with_an_emoji_in_a_name_is_printed(
    printer_without_fonts: LetterPrinter, tmp_path: Path
) -> None:
    debtor = DebtorName(first_name="Erika 🌸", last_name="Mustermann 👩🏽\u200d⚕️")
    address = render_address(debtor, {"street": "Deichstraße 1", "city": "Hamburg"}, None, "de")
    creditor = replace(CREDITOR, name="Teekontor 🍵", legal_name="Teekontor 🍵 GmbH")
    rendered = a_letter(address=address, debtor=debtor, creditor=creditor)
    path = tmp_path / "letter.pdf"
    path.write_bytes(await printer_without_fonts.print_sheet(encode_sheet(rendered.sheet)))
    text = PrintedLetter(path).text()
    assert rendered.body_text.startswith("Guten Tag Erika Mustermann,")
    assert "Erika Mustermann" in text
    assert "Teekontor GmbH" in text


def test_most_letters_need_no_further_fonts() -> None:
    shelf = FontLibrary([Path("/nowhere")])
    assert shelf.choose("Müller, Łódź, Ελλάδα, Київ, שלום „€“ …") == FontChoice()


def test_only_the_needed_fonts_are_chosen() -> None:
    shelf = FontLibrary(find_noto_fonts())
    assert len(shelf.choose("王小明").faces) == 1
    assert len(shelf.choose("王小明 محمد").faces) == 2
    assert shelf.choose("山田さくら").faces != shelf.choose("王小明").faces
    # An arrow is not part of a name and needs no font.
    assert shelf.choose("→ ✓").faces == ()
    assert shelf.choose("A\u200d\ufe0f\u2066x\u2069") == FontChoice()


def test_a_file_that_is_not_a_font_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.ttf").write_bytes(b"no font")
    (tmp_path / "b.ttf").write_bytes(b"")
    (tmp_path / "c.ttc").write_bytes(b"ttcf" + b"\xff" * 40)
    (tmp_path / "d.otf").write_bytes(b"OTTO\xff\xff" + b"\0" * 300)
    assert FontLibrary([tmp_path]).choose("王").missing == ("Han",)


def test_every_bundled_font_is_documented() -> None:
    for name, text in write_coverage().items():
        assert (FOLDER / name).read_text() == text


def test_every_script_has_a_name() -> None:
    assert [get_script_name(each) for each in "王か한ཀ😀\ue123"] == [
        "Han", "Hiragana", "Hangul", "Tibetan", "symbols", "Unknown",
    ]  # fmt: skip


async def test_right_to_left_names_do_not_change_the_surrounding_text(
    printer: LetterPrinter, tmp_path: Path
) -> None:
    """The name is written from right to left, and the number and street below it from left to
    right."""
    letter = await print_to(
        tmp_path / "letter.pdf", printer, _HEBREW, "12 - 14 Hauptstraße", "51147 Köln"
    )
    words = [word for word in letter.words() if word.is_within(20, 62.7, 85, 27.3)]
    left = {word.text: word.left for word in words}
    assert left["12"] < left["-"] < left["14"] < left["Hauptstraße"]
    sara, cohen = left["הרש"], left["ןהכ"]
    assert cohen < sara
    assert min(left["12"], cohen) == pytest.approx(25, abs=0.6)


async def test_equal_letters_have_equal_bytes_after_any_other_letter(
    printer: LetterPrinter,
) -> None:
    # Each name needs other fonts and therefore another child, which starts slowly.
    names = [*_NAMES.values()][:3]
    sheets = [encode_sheet(a_letter(address=[name, "x"]).sheet) for name in names]
    first = [await printer.print_sheet(sheet) for sheet in sheets]
    again = [await printer.print_sheet(sheet) for sheet in reversed(sheets)]
    assert again[::-1] == first


async def test_children_with_further_fonts_are_limited_and_confined() -> None:
    others = {*list_children()}
    printer = LetterPrinter(1, fonts=find_noto_fonts())
    # Each name needs other fonts and therefore another child.
    for name in [*_NAMES.values()][:3]:
        await printer.print_sheet(encode_sheet(a_letter(address=[name, "x"]).sheet))
    children = [each for each in list_children() if each not in others]
    assert len(children) <= 2
    for pid in children:
        opened, most = list_open(pid)
        assert [each for each in opened if "font" in each] == []
        assert most <= len(opened) + 1
    await printer.close()


@dataclass
class SlowlyClosingPool:
    """A pool whose end can be waited for."""

    may_close: asyncio.Event
    is_closed: bool = False

    async def close(self) -> None:
        self.is_closed = True
        await self.may_close.wait()


async def test_a_job_gets_no_children_that_are_being_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    may_close = asyncio.Event()
    printer = LetterPrinter(1)
    monkeypatch.setattr(printer, "_open_pool", lambda *_: SlowlyClosingPool(may_close))
    sets = [(FontFace(f"/{number}.ttf", 0),) for number in range(4)]
    printer._font_pools.update({faces: printer._open_pool(1, faces) for faces in sets[:3]})

    async def use_fourth() -> None:
        async with printer._use_pool(sets[3]):
            pass

    finishing = asyncio.create_task(use_fourth())
    await asyncio.sleep(0)
    async with printer._use_pool(sets[1]) as pool:
        may_close.set()
        await finishing
        assert not pool.is_closed


def list_children() -> list[int]:
    own = os.getpid()
    found = Path(f"/proc/{own}/task/{own}/children").read_text().split()
    return [int(pid) for pid in found if b"printer_child" in read_command(pid)]


def list_open(pid: int) -> tuple[list[str], int]:
    """Return the open files of a process and its memory limit."""
    opened = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()]
    limits = Path(f"/proc/{pid}/limits").read_text()
    (files,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    return opened, int(files.split()[3])


def read_command(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
