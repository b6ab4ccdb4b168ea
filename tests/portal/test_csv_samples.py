"""The rows and columns that are shown of a CSV sample are limited, whatever it contains."""

import base64
import re
from typing import Any

import pytest

from dunwell.interfaces.portal.statements.csv_form import guess_format, parse_sample
from tests.support.harness import Harness
from tests.support.portal import OWN_FORM, Clerk, read_fields
from tests.support.statements import StatementHarness

_READING = {"encoding": "utf-8", "delimiter": ";", "hasHeader": True}


def test_eight_rows_and_forty_columns_of_a_sample_are_shown() -> None:
    row = ";".join(f"c{number}" for number in range(50))
    shown = parse_sample("\n".join([row] * 20).encode(), _READING)
    assert [len(each) for each in shown.rows] == [40] * 8
    assert len(shown.columns) == 40


@pytest.mark.parametrize(
    "sample",
    [
        b"", b"\0" * 1000, b"\xff\xfe" + b"a;" * 99, b'"' + b"x" * 99_000, b"\r" * 99_000,
        b";" * 99_000, b"\xef\xbb\xbfa;b\r1;2", b"x" * 140_000,
    ],
)  # fmt: skip
def test_no_sample_prevents_the_page(sample: bytes) -> None:
    guessed = {**_READING, **guess_format(sample)}
    for skipped_rows in (0, "9" * 30, "9" * 5000):
        shown = parse_sample(sample, {**guessed, "skippedRows": skipped_rows})
        assert len(shown.rows) <= 8
        assert len(shown.columns) <= 40


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("Gebühr;1".encode("utf-16"), "utf-16"),
        ("\ufeffGebühr;1".encode("utf-16-be"), "utf-16"),
        ("Gebühr".encode(), "utf-8"), ("Gebühr".encode("windows-1252"), "windows-1252"),
        ("Gebühr €".encode(), "utf-8"), (b"", "utf-8"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cut", [0, 1])
def test_the_encoding_of_a_sample_that_ends_within_a_character_is_guessed(
    content: bytes, encoding: str, cut: int
) -> None:
    sample = content[: len(content) - cut]
    assert guess_format(sample)["encoding"] == encoding


async def test_a_sample_is_cut_at_a_row_and_ten_entries_are_shown(
    clerk: Clerk, harness: Harness
) -> None:
    await StatementHarness(harness).save()
    path = "/bank/accounts/main/csv"
    token = read_fields((await clerk.get(path)).text)["token"]
    rows = "".join(f"02.03.2026;Rechnung {number};1,00\n" for number in range(10_000))
    content = ("Buchungstag;Zweck;Betrag\n" + rows).encode()
    fields: dict[str, Any] = {
        "token": (None, token), "do": (None, "look"), "sample_file": ("a.csv", content),
        "encoding": (None, "utf-8"), "delimiter": (None, ";"), "hasHeader": (None, "on"),
        "dateFormat": (None, "DD.MM.YYYY"), "decimals": (None, "COMMA"),
        "bookedOn": (None, "Buchungstag"), "amount": (None, "Betrag"),
        "referenceText": (None, "Zweck"),
    }  # fmt: skip
    page = await clerk.http.post(clerk.at(path), files=fields, headers=OWN_FORM)
    sample = base64.b64decode(read_fields(page.text)["sample"])
    assert 99_000 < len(sample) <= 100_000
    assert sample.endswith(b";1,00")
    assert content.startswith(sample)
    # Eight rows of the file are shown, and ten entries that were read.
    fields.pop("sample_file")
    fields["sample"] = (None, base64.b64encode(sample))
    page = await clerk.http.post(clerk.at(path), files=fields, headers=OWN_FORM)
    assert page.status_code == 200
    assert set(re.findall(r"Rechnung ([0-9]+)", page.text)) == {str(each) for each in range(10)}
    # A longer sample in the hidden field is cut as well.
    fields["sample"] = (None, base64.b64encode(content))
    page = await clerk.http.post(clerk.at(path), files=fields, headers=OWN_FORM)
    assert len(base64.b64decode(read_fields(page.text)["sample"])) == 100_000
