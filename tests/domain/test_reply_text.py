# ruff: noqa: E501 - texts as mail programs write them
"""Extraction of a person's text from an e-mail."""

import time
from email import message_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.adapters.mail.reply_text import extract_text, list_file_names, parse_reply_text
from tests.support.bounces import a_plain_mail


def _text(text: str) -> str:
    return parse_reply_text(message_from_bytes(a_plain_mail("e@x.example", "Re", text)))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("I paid.\n\nOn Mon, 2 Mar 2026 at 09:00, Nordwind <a@b.example> wrote:\n> Please pay.\n", "I paid."),
        ("Ich habe bezahlt.\n\nAm 02.03.2026 um 09:00 schrieb Nordwind:\n> Bitte zahlen.\n", "Ich habe bezahlt."),
        ("Only this.", "Only this."),
        ("<script>alert(1)</script> & 'x'", "<script>alert(1)</script> & 'x'"),
        ("a\x00b\x1b[31m\u202ered", "ab[31mred"),
    ],
)  # fmt: skip
def test_quotes_and_controls_are_left_out(written: str, read: str) -> None:
    assert _text(written) == read


def test_an_html_reply_is_converted_to_text() -> None:
    html = "<html><head><style>p{}</style></head><body><p>I paid <b>all</b>.</p><script>x()</script><p>Bye &amp; thanks</p></body>"
    mail = a_plain_mail("e@x.example", "Re", html).replace(b"text/plain", b"text/html")
    assert parse_reply_text(message_from_bytes(mail)) == "I paid all.\nBye & thanks"
    assert extract_text("<script>alert(1)</script>") == ""


def test_attachments_are_named_and_not_opened() -> None:
    mail = (
        b"Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n\r\nSee file.\r\n"
        b'--B\r\nContent-Type: application/pdf; name="x"\r\n'
        b"Content-Disposition: attachment; filename*=utf-8''..%2F..%2FBeleg%20M%C3%A4rz.pdf\r\n\r\nx\r\n--B--\r\n"
    )
    message = message_from_bytes(mail)
    assert list_file_names(message) == [".._.._Beleg März.pdf"]
    assert parse_reply_text(message) == "See file."


@pytest.mark.parametrize(
    "hostile",
    [">" * 400_000, "On " * 100_000, "\n" * 400_000, "> \n" * 100_000, "From: " * 60_000,
     "-" * 300_000, "_" * 300_000, " " * 300_000, " \n" * 100_000, "On a wrote " * 30_000, "x\n\n" * 80_000, "Am schrieb" * 30_000, "<div>" * 60_000],
)  # fmt: skip
def test_hostile_texts_are_parsed_quickly(hostile: str) -> None:
    started = time.process_time()
    _text(hostile)
    extract_text(hostile)
    assert time.process_time() - started < 2


@given(st.text(max_size=300))
def test_parsing_a_reply_never_crashes(text: str) -> None:
    read = _text(text.encode("utf-8", "replace").decode())
    assert all(each.isprintable() or each in "\n\t" for each in read)
