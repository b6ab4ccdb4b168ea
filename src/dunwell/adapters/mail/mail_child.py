"""The child process that parses untrusted e-mails: `python -m dunwell.adapters.mail.mail_child`."""

import codecs

import msgspec

from dunwell.adapters.mail.incoming import MailRequest, parse_mail
from dunwell.platform.children.child import confine_process, serve

# A message of 10 MiB needs a quarter of this.
_MEMORY_BYTES = 512 * 1024 * 1024
# A harmless message of 10 MiB, most of it an attachment, takes less than one second.
_CPU_SECONDS_PER_MAIL = 5
# Common character sets. They are loaded now because the confined process cannot load others.
_ENCODINGS = (
    "ascii", "utf-8", "utf-16", "utf-7", "latin-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251",
    "cp1252", "cp1254", "koi8-r", "gb18030", "gb2312", "big5", "shift_jis", "iso-2022-jp", "euc-kr",
    "idna", "base64", "quopri", "raw-unicode-escape",
)  # fmt: skip
_WARM_UP = (
    b"From: a@example.com\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Mon, 1 Jan 2024 10:00 "
    b"+0100\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nPHA+aGk8L3A+\r\n--b\r\nContent-Type: text/plain; "
    b"charset=utf-8\r\nContent-Disposition: attachment; filename*=utf-8''%41\r\n\r\nhi\r\n--b--\r\n"
)


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    for name in _ENCODINGS:
        codecs.lookup(name)
    plain = b"From: a@example.com\r\n\r\nYes.\r\n\r\nOn Monday A wrote:\r\n> hi\r\n"
    report = (
        b"Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/"
        b"delivery-status\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n"
    )
    for content in (_WARM_UP, plain, report):
        _answer_request(msgspec.msgpack.encode(MailRequest(content, "a@example.com")))
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_MAIL)
    serve(_answer_request, _CPU_SECONDS_PER_MAIL)


def _answer_request(request: bytes) -> bytes:
    return msgspec.msgpack.encode(parse_mail(msgspec.msgpack.decode(request, type=MailRequest)))


if __name__ == "__main__":
    main()
