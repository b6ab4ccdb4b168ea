"""Printed letters, checked with poppler, zbar and qpdf."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.messages.letters.sheet import Enclosure, Picture, encode_sheet
from dunwell.contact.messages.templates.facts import (
    CreditorFacts,
    LandingFacts,
    MessageClaim,
    MessageItem,
)
from dunwell.core.claims.fields import DebtorName
from tests.support.files import a_pdf, an_image
from tests.support.letters import ADDRESS, PrintedLetter, a_letter
from tests.support.messages import CLAIM, CREDITOR
from tests.support.tools import run_tool

Print = Callable[..., Awaitable[PrintedLetter]]
_WINDOW = (20.0, 45.0, 85.0, 45.0)
_ADDRESS_ZONE_TOP = 90.0 - 27.3
# As long as the letters of most merchants.
_USUAL = (
    "{{ snippet.greeting }},\n\nunsere Rechnung {{ claim.referenceNumber }} ist noch offen. Bitte "
    "zahlen Sie **{{ outstanding }}**.\n\nSo setzt sich der Betrag zusammen:\n\n{{ items }}\n\n"
    "Auf Ihrer Seite sehen Sie alle Einzelheiten, können zahlen, eine Ratenzahlung vereinbaren "
    "oder uns sagen, wenn etwas nicht stimmt. Haben Sie schon gezahlt? Dann ist dieses Schreiben "
    "gegenstandslos.\n\nWir bitten Sie, den Betrag in den nächsten 14 Tagen zu "
    "überweisen.\n\nKönnen Sie nicht alles auf einmal zahlen, finden wir gemeinsam einen "
    "Weg.\n\nBitte sprechen Sie uns an.\n\nHaben Sie Fragen? Dann melden Sie sich bei uns.\n\n"
    "Freundliche Grüße\n{{ merchant.name }}"
)
_LONG = "Noch ein Absatz mit vielen Worten, der die Seite füllt. " * 70


@pytest.fixture(scope="module")
async def printer() -> AsyncIterator[LetterPrinter]:
    printer = LetterPrinter(1)
    yield printer
    await printer.close()


@pytest.fixture
def print_letter(printer: LetterPrinter, tmp_path: Path) -> Print:
    async def print_one(body: str | None = None, **changes: Any) -> PrintedLetter:
        pdf = await printer.print_sheet(encode_sheet(a_letter(body, **changes).sheet))
        path = tmp_path / "letter.pdf"
        await asyncio.to_thread(path.write_bytes, pdf)
        return PrintedLetter(path)

    return print_one


def _in_window(letter: PrintedLetter) -> str:
    return " ".join(word.text for word in letter.words() if word.is_within(*_WINDOW))


async def test_the_window_shows_sender_and_address_and_nothing_else(print_letter: Print) -> None:
    letter = await print_letter()
    sender = "Nordwind Schuhe GmbH · Deichstraße 1 · 20459 Hamburg"
    assert _in_window(letter) == f"{sender} Ada Lovelace Heidestraße 17 51147 Köln"
    names = ("Ada", "Lovelace", "Heidestraße", "51147", "Köln")
    lines = [word for word in letter.words() if word.is_within(*_WINDOW) and word.text in names]
    assert all(word.top >= _ADDRESS_ZONE_TOP and word.bottom <= 90 for word in lines)
    assert min(word.left for word in lines) == pytest.approx(25, abs=0.5)


@pytest.mark.parametrize("repeat", [1, 3])
async def test_seven_and_more_lines_are_reduced_to_fit_the_window(
    print_letter: Print, repeat: int
) -> None:
    company = "Gesellschaft für Beteiligungen und Verwaltung mbH & Co. Kommanditgesellschaft"
    address = [company, *[f"Ada Lovelace {company}"[:80]] * repeat, "3. Stock", *ADDRESS[1:]]
    letter = await print_letter(address=address)
    window = _in_window(letter)
    assert window.endswith(" ".join(address[-3:]))
    assert window.count("Kommanditgesellschaft") >= 1
    words = [word for word in letter.words() if word.text == "Köln"]
    assert words[0].bottom <= 90.0


async def test_fold_marks_and_text_are_where_the_standard_requires(print_letter: Print) -> None:
    letter = await print_letter()
    (subject,) = [word for word in letter.words() if word.text == "Erinnerung"]
    assert subject.top == pytest.approx(98.4, abs=1.5)
    prefix = letter.path.with_suffix("")
    run_tool("pdftoppm", "-r", "127", "-gray", "-singlefile", str(letter.path), str(prefix))
    with Image.open(prefix.with_suffix(".pgm")) as sheet:
        # The picture has five pixels per millimetre. Nothing else is printed six millimetres from
        # the left edge.
        column = list(sheet.crop((30, 0, 31, sheet.height)).tobytes())
    dark = [y / 5 for y, shade in enumerate(column) if shade < 200]
    assert [round(y * 2) / 2 for y in dark] == [105, 148.5, 210]


async def test_both_codes_can_be_read(print_letter: Print) -> None:
    letter = await print_letter()
    assert await asyncio.to_thread(letter.codes) == [
        "BCD\n002\n1\nSCT\n\nNordwind\nDE02120300000000202051\nEUR1000.00\n\n\nR-1",
        "https://pay.example/q/abcdefghijklmnopqrstuv",
    ]


async def test_another_currency_or_no_account_leaves_only_the_code_of_the_page(
    print_letter: Print,
) -> None:
    letter = await print_letter(claim=replace(CLAIM, currency="CHF"))
    page = ["https://pay.example/q/abcdefghijklmnopqrstuv"]
    assert await asyncio.to_thread(letter.codes) == page
    assert "CHF" in letter.text()
    letter = await print_letter(creditor=replace(CREDITOR, bank_iban=None))
    assert await asyncio.to_thread(letter.codes) == page
    assert "IBAN" not in letter.text()


async def test_the_letter_has_all_payment_data_as_text(print_letter: Print) -> None:
    text = (await print_letter(enclosures=[Enclosure("Rechnung", 2)])).text()
    for expected in (
        "ABCD-EFGH-JKMN", "pay.example/q", "DE02 1203 0000 0000 2020 51", "1.234,56 €",
        "Noch zu zahlen", "Fällig am 1. Februar 2026.", "Rechnung (2 Seiten)", "hilfe@nordwind",
    ):  # fmt: skip
        assert expected in text
    assert "Seite 1" not in text


async def test_a_long_letter_numbers_its_pages_and_keeps_paragraphs_together(
    print_letter: Print,
) -> None:
    items = tuple(MessageItem("PRIMARY", 100 + n, f"RE-{n}") for n in range(60))
    letter = await print_letter(
        f"{_LONG}\n\n{{{{ items }}}}\n\nEnde", claim=replace(CLAIM, items=items)
    )
    text = letter.text()
    pages = text.rstrip("\f").count("\f") + 1
    assert pages >= 3
    for page in range(1, pages + 1):
        assert f"Seite {page} von {pages}" in text
    last = " ".join(word.text for word in letter.words(pages))
    assert "ABCD-EFGH-JKMN" in last
    assert "DE02 1203" in last


async def test_every_child_prints_the_same_bytes(printer: LetterPrinter) -> None:
    sheet = encode_sheet(a_letter().sheet)
    first = await printer.print_sheet(sheet)
    other = LetterPrinter(1)
    assert await other.print_sheet(sheet) == first
    await other.close()
    assert await printer.print_sheet(encode_sheet(a_letter("x").sheet)) != first


async def test_an_earlier_letter_does_not_change_a_later_one(printer: LetterPrinter) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    sheets = [
        encode_sheet(a_letter(body, **changes).sheet)
        for body, changes in (
            (None, {"logo": Picture("image/svg+xml", svg), "color": "#aa0000"}),
            (None, {"creditor": replace(CREDITOR, bank_iban=None, legal_name="Südwind KG")}),
            (_LONG, {"address": ["Grace Hopper", "Allee 1"], "landing": LandingFacts("x", "y")}),
            (None, {"language": "en"}),
        )
    ]
    in_turn = [await printer.print_sheet(sheet) for sheet in [*sheets, *sheets]]
    for sheet, *printed in zip(sheets, in_turn[:4], in_turn[4:], strict=True):
        alone = LetterPrinter(1)
        expected = await alone.print_sheet(sheet)
        await alone.close()
        assert printed == [expected, expected]


async def test_every_further_page_names_its_creditor_and_reference(
    print_letter: Print,
) -> None:
    letter = await print_letter(_LONG)
    heads = [
        [word.text for word in letter.words(page) if word.is_within(0, 0, 210, 25)]
        for page in (1, 2)
    ]
    assert heads == [["Nordwind"], ["Nordwind", "Schuhe", "GmbH", "R-1"]]


async def test_the_pdf_is_valid_and_tagged(print_letter: Print) -> None:
    letter = await print_letter()
    assert "No syntax or stream encoding errors" in run_tool("qpdf", "--check", str(letter.path))
    output = run_tool("pdfinfo", str(letter.path))
    assert "Title:           Erinnerung R-1" in output
    assert "Tagged:          yes" in output
    assert "595.276 x 841.89 pts (A4)" in output


@pytest.mark.parametrize(
    "hostile",
    [
        '#read("/etc/passwd")', "#let x = 1; #panic()", "*a* _b_ `c` $d$ <e> @f", "// gone",
        "/* gone */", "\\u{41}", '"]) #set page(width: 1cm)', "= Title", '#import "@preview/a:1"',
        "https://evil.example", "---", "~", "'\"", "%PDF-1.7", "{{ today }}",
    ],
)  # fmt: skip
async def test_hostile_texts_are_printed_as_they_are(print_letter: Print, hostile: str) -> None:
    name = f"A {hostile} Z"
    letter = await print_letter(
        "{{ debtor.name }}",
        debtor=DebtorName(last_name=name),
        address=[name, "Straße 1", "1 Ort"],
        enclosures=[Enclosure(name)],
    )
    text = "".join(letter.text().split())
    assert text.count("".join(name.split())) == 3


async def test_the_operators_text_is_not_interpreted(print_letter: Print) -> None:
    text = (await print_letter('#panic("x") $1$ \\#let <label> @ref // end')).text()
    assert '#panic("x") $1$ #let <label> @ref // end' in text


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "SVG"])
async def test_a_logo_replaces_the_name(printer: LetterPrinter, kind: str) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    logo = Picture("image/svg+xml", svg)
    if kind != "SVG":
        logo = Picture(f"image/{kind.lower()}", an_image(kind, 80, 40))
    with_logo = await printer.print_sheet(encode_sheet(a_letter(logo=logo).sheet))
    assert with_logo != await printer.print_sheet(encode_sheet(a_letter().sheet))


@pytest.mark.parametrize("shape", ["0 0 9 9", "0 0 900 9"])
async def test_a_logo_is_at_the_margin(print_letter: Print, shape: str) -> None:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{shape}"><path d="M0 0h900v9H0z"/></svg>'
    )
    letter = await print_letter(logo=Picture("image/svg+xml", svg.encode()))
    prefix = letter.path.with_suffix("")
    run_tool("pdftoppm", "-r", "127", "-gray", "-singlefile", str(letter.path), str(prefix))
    with Image.open(prefix.with_suffix(".pgm")) as sheet:
        # The picture has five pixels per millimetre. Nothing else is printed above the window.
        logo = (
            sheet.crop((0, 0, sheet.width // 2, 40 * 5)).point(lambda shade: 255 - shade).getbbox()
        )
    assert logo is not None
    assert logo[0] / 5 == pytest.approx(25, abs=0.5)
    assert logo[2] / 5 <= 105.5


def _make_items(count: int, cents: int) -> MessageClaim:
    """Return a claim with `count` items, two of them fees. With large amounts its total has ten
    digits."""
    fees = [MessageItem("DUNNING_FEE", 250, item_date=date(2026, 3, 1))] * 2
    owed = [
        MessageItem("PRIMARY", cents, f"RE-2026-{n}", date(2026, 1, 2), date(2026, 2, 1))
        for n in range(max(1, count - 2))
    ]
    items = (*owed, *fees)[:count]
    return replace(CLAIM, items=items, total_cents=cents, outstanding_cents=cents)


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(("count", "pages"), [(1, 1), (3, 1), (12, 2)])
async def test_the_payment_section_is_on_the_first_page_or_with_some_of_the_text(
    print_letter: Print, language: str, count: int, pages: int
) -> None:
    claim = _make_items(count, 9_999_999_999)
    letter = await print_letter(_USUAL, language=language, claim=claim)
    assert letter.text().count("\f") == pages
    words = letter.words(pages)
    [code] = [word for word in words if word.text == "ABCD-EFGH-JKMN"]
    above = " ".join(word.text for word in words if 26 < word.top < code.top)
    assert "Freundliche Grüße Nordwind" in above
    assert max(word.right for word in words) <= 190.5
    assert max(word.bottom for word in words if word.top < 250) < 258


async def test_long_words_do_not_exceed_the_margin(print_letter: Print) -> None:
    creditor = replace(
        CREDITOR,
        legal_name="Stadtwerke Neubrandenburg Energieversorgungsgesellschaft mbH",
        email="forderungsmanagement@stadtwerke-neubrandenburg.example",
    )
    address = ["Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
               "Straße-des-siebzehnten-Juni-und-der-Republik 17", "51147 Köln"]  # fmt: skip
    letter = await print_letter(creditor=creditor, address=address)
    assert max(word.right for word in letter.words()) <= 190.5
    window = [word for word in letter.words() if word.is_within(*_WINDOW)]
    assert max(word.right for word in window) <= 105
    shown = "".join(word.text for word in window).replace("\u200b", "")
    assert "".join(address).replace(" ", "") in shown
    smallest = min(word.bottom - word.top for word in window if word.top >= _ADDRESS_ZONE_TOP)
    assert smallest >= 7.5 * 25.4 / 72


async def test_a_creditor_with_all_details_fits_the_footer(print_letter: Print) -> None:
    creditor: CreditorFacts = replace(
        CREDITOR,
        legal_address="Deichstraße 1\nHaus 3\n20459 Hamburg\nDeutschland",
        register="Amtsgericht Hamburg HRB 12345",
        supervisory_authority="Präsident des Amtsgerichts Hamburg, Sievekingplatz 1",
        vat_id="DE123456789",
    )
    letter = await print_letter(creditor=creditor)
    assert max(word.bottom for word in letter.words()) < 292
    assert "USt-IdNr.: DE123456789" in letter.text()


async def test_pages_of_enclosures_are_counted(printer: LetterPrinter) -> None:
    assert await printer.count_pages(a_pdf(3)) == 3
    assert await printer.count_pages(b"%PDF-1.7 nonsense") is None
