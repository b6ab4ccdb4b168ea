"""Cells of spreadsheet files: no text of others becomes a formula, however the cell is split."""

import csv
import io

import pytest

from dunwell.operations.jobs.exported_lists import render_rows


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("=1+1", "'=1+1"),
        (' "=1+1"', '\' "=1+1"'),
        ("a;=cmd|'/C calc'!A0;b", "a;'=cmd|'/C calc'!A0;b"),
        ("a; +1;\u00a0@x;-2", "a;' +1;'\u00a0@x;'-2"),
        ('a;"=1+1"', 'a;\'"=1+1"'),
        ("a\t=1", "a\t'=1"),
        ("a\r\n-1", "a\r\n'-1"),
        ("a;b=c; d-e, f@example.org", "a;b=c; d-e, f@example.org"),
    ],
)
def test_no_part_of_a_split_cell_is_a_formula(text: str, rendered: str) -> None:
    written = render_rows([(1, text, "end")]).decode()

    assert list(csv.reader(io.StringIO(written, newline=""))) == [["1", rendered, "end"]]


def test_a_number_below_zero_stays_a_number() -> None:
    assert render_rows([(-5,)]) == b"-5\r\n"
