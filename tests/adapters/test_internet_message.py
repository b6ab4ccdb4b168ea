"""A message is encoded as an e-mail that the standard library parses to the same content."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.adapters.channels.internet_message import AddressUnusable, build_internet_message
from dunwell.contact.sending.channel import MessageFile, MessageImage
from tests.support.messages import a_message

_HEADERS = [
    "Date", "Message-ID", "From", "To", "Reply-To", "Subject",
    "Auto-Submitted", "Content-Language", "MIME-Version", "Content-Type",
]  # fmt: skip


def _parse(content: bytes) -> EmailMessage:
    return message_from_bytes(content, policy=default)


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def test_the_headers_have_a_fixed_order() -> None:
    message = _parse(build_internet_message(a_message()))
    assert sorted(message.keys()) == sorted(_HEADERS)
    assert message["Date"] == "Mon, 02 Mar 2026 09:00:00 +0000"
    expected = "<01900000-0000-7000-8000-000000000001@nordwind.example>"
    assert message["Message-ID"] == expected
    assert message["From"] == "Nordwind Schuhe GmbH <claims@nordwind.example>"
    assert message["To"] == "ada@example.org"
    assert message["Reply-To"] == "hilfe@nordwind.example"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Content-Language"] == "de"


def test_text_comes_before_html_and_both_are_utf_8() -> None:
    message = _parse(build_internet_message(a_message()))
    assert message.get_content_type() == "multipart/alternative"
    kinds = [(part.get_content_type(), part.get_content_charset()) for part in message.iter_parts()]
    assert kinds == [("text/plain", "utf-8"), ("text/html", "utf-8")]
    assert _body(message, "plain") == a_message().body_text
    assert _body(message, "html") == a_message().body_html


def test_a_message_without_html_has_one_part() -> None:
    message = _parse(build_internet_message(a_message(body_html=None)))
    assert message.get_content_type() == "text/plain"
    assert message.get_content().replace("\r\n", "\n") == a_message().body_text


def test_attachments_keep_name_type_and_bytes() -> None:
    content = bytes(range(256)) * 9
    file = MessageFile('Für "März".pdf', "application/pdf", content)
    message = _parse(build_internet_message(a_message(attachments=(file,))))
    assert message.get_content_type() == "multipart/mixed"
    (part,) = message.iter_attachments()
    assert part.get_filename() == 'Für "März".pdf'
    assert part.get_content_type() == "application/pdf"
    assert part.get_content() == content
    assert _body(message, "plain") == a_message().body_text


def test_a_logo_is_related_to_the_html_and_precedes_the_attachments() -> None:
    logo = MessageImage("logo@brand", "image/png", bytes(range(256)) * 20)
    file = MessageFile("a.pdf", "application/pdf", b"%PDF")
    message = _parse(build_internet_message(a_message(logo=logo, attachments=(file,))))
    kinds = [part.get_content_type() for part in message.walk()]
    assert kinds == [
        "multipart/mixed", "multipart/alternative", "text/plain", "multipart/related", "text/html",
        "image/png", "application/pdf",
    ]  # fmt: skip
    [image] = [part for part in message.walk() if part.get_content_maintype() == "image"]
    assert image["Content-ID"] == "<logo@brand>"
    assert image["Content-Disposition"] == "inline"
    assert image.get_content() == logo.content
    assert _body(message, "plain") == a_message().body_text
    assert _body(message, "html") == a_message().body_html
    assert [part.get_filename() for part in message.iter_attachments()] == ["a.pdf"]


def test_an_international_domain_is_encoded_in_ascii() -> None:
    message = _parse(build_internet_message(a_message(recipient="ada@bücher.example")))
    assert message["To"] == "ada@xn--bcher-kva.example"


@pytest.mark.parametrize(
    "address",
    [
        "", "ada", "@example.org", "ada@", "a b@example.org", "a@b@example.org",
        "a@example.org,b@example.org", "<a@example.org>", "a@example.org\r\nBcc: b@example.org",
        "a@example.org\n", "a@exam\x00ple.org", 'a"b@example.org', "a@" + "x" * 70 + ".org",
    ],
)  # fmt: skip
def test_a_recipient_that_is_not_one_address_is_refused(address: str) -> None:
    for changes in ({"recipient": address}, {"sender": address}):
        with pytest.raises(AddressUnusable):
            build_internet_message(a_message(**changes))


def _words(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).replace(" ", "")


_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@given(_TEXT, _TEXT)
def test_any_subject_and_name_are_kept_and_inject_no_header(subject: str, name: str) -> None:
    content = build_internet_message(a_message(subject=subject, sender_name=name))
    message = _parse(content)
    assert sorted(message.keys()) == sorted(_HEADERS)
    assert _words(str(message["Subject"])) == _words(subject)
    (sender,) = message["From"].addresses
    assert sender.addr_spec == "claims@nordwind.example"
    assert _words(sender.display_name) == _words(name)


@given(_TEXT, _TEXT)
def test_any_body_is_kept_in_short_lines(text: str, html: str) -> None:
    content = build_internet_message(a_message(body_text=text, body_html=html))
    assert max(len(line) for line in content.split(b"\r\n")) <= 78
    assert b"\n" not in content.replace(b"\r\n", b"")
    message = _parse(content)
    for kind, body in (("plain", text), ("html", html)):
        expected = body.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
        assert _body(message, kind) == expected


def test_a_body_cannot_end_its_part() -> None:
    first = build_internet_message(a_message())
    boundary = _parse(first).get_boundary()
    message = _parse(build_internet_message(a_message(body_text=f"a\n--{boundary}--\nb\n")))
    assert _body(message, "plain") == f"a\n--{boundary}--\nb\n"
    assert len(list(message.iter_parts())) == 2
