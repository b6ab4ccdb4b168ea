# ruff: noqa: E501 - texts as servers write them
"""Bounces in the formats of many mail servers, with texts written for these tests."""

from email.message import EmailMessage

RECIPIENT = "erika@customer.example"


def a_report(
    *blocks: str, text: str = "Your message could not be delivered.", original: str = "",
    sender: str = "MAILER-DAEMON@mx.customer.example",
) -> bytes:  # fmt: skip
    """Return a delivery status notification with one block for each recipient."""
    status = "\r\n\r\n".join(["Reporting-MTA: dns; mx.customer.example", *blocks])
    lines = [
        f"From: Mail Delivery System <{sender}>",
        "To: bounce@returns.example.com",
        "Subject: Undelivered Mail Returned to Sender",
        "Date: Mon, 2 Mar 2026 10:00:00 +0100",
        "Message-ID: <report-1@mx.customer.example>",
        "Auto-Submitted: auto-replied",
        "MIME-Version: 1.0",
        "Content-Type: multipart/report; report-type=delivery-status; boundary=B",
        "",
        "--B",
        "Content-Type: text/plain; charset=utf-8",
        "",
        text,
        "--B",
        "Content-Type: message/delivery-status",
        "",
        status,
        "",
        "--B",
        "Content-Type: text/rfc822-headers",
        "",
        original or "Subject: Reminder",
        "--B--",
        "",
    ]
    return "\r\n".join(lines).encode()


def a_block(action: str, status: str, diagnostic: str = "") -> str:
    lines = [
        f"Final-Recipient: rfc822; {RECIPIENT}",
        f"Action: {action}",
        f"Status: {status}",
    ]
    return "\r\n".join([*lines, f"Diagnostic-Code: {diagnostic}"] if diagnostic else lines)


def a_plain_mail(sender: str, subject: str, text: str, **headers: str) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "x@returns.example.com", subject
    message["Date"] = "Mon, 2 Mar 2026 10:00:00 +0100"
    message["Message-ID"] = "<plain-1@customer.example>"
    for name, value in headers.items():
        del message[name.replace("_", "-")]
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


QMAIL = """Hi. This is the qmail-send program at mx.customer.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<erika@customer.example>:
Sorry, no mailbox here by that name. (#5.1.1)

--- Below this line is a copy of the message.
"""
EXIM = """This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  erika@customer.example
    SMTP error from remote mail server after RCPT TO:<erika@customer.example>:
    host mx.customer.example [192.0.2.51]: 550 5.2.1 The email account that you tried to reach is disabled

------ This is a copy of the message, including all the headers. ------
"""
EXIM_CODELESS = """This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:

  erika@customer.example
    retry timeout exceeded

------ This is a copy of the message, including all the headers. ------
"""
# Name of the bounce -> (the message, its expected meaning).
TABLE: dict[str, tuple[bytes, tuple[str, str, str]]] = {
    "postfix, unknown user": (
        a_report(a_block("failed", "5.1.1", "smtp; 550 5.1.1 <erika@customer.example>: Recipient address rejected: User unknown in virtual mailbox table")),
        ("FAILED", "ADDRESS", "5.1.1"),
    ),
    "postfix, says nothing but in the diagnostic": (
        a_report(a_block("failed", "5.0.0", "smtp; 550 Requested action not taken: mailbox unavailable, no such user")),
        ("FAILED", "ADDRESS", "550 address unknown"),
    ),
    "says nothing at all": (
        a_report(a_block("failed", "5.0.0", "smtp; delivery was not possible")),
        ("FAILED", "OTHER", "unreadable"),
    ),
    "says nothing but in its words to people": (
        a_report(a_block("failed", "5.0.0"), text="host said: 550 5.7.26 This mail is unauthenticated"),
        ("FAILED", "ABOUT_US", "5.7.26"),
    ),
    "postfix, gave up after days": (
        a_report(a_block("failed", "4.4.1", "X-Postfix; connect to mx.customer.example[192.0.2.4]:25: Connection timed out")),
        ("FAILED", "OTHER", "4.4.1"),
    ),
    "postfix, goes on trying": (
        a_report(a_block("delayed", "4.4.1", "X-Postfix; connect to mx.customer.example: Connection timed out")),
        ("DELAYED", "OTHER", ""),
    ),
    "gmail, unknown": (
        a_report(a_block("failed", "5.1.1", "smtp; 550-5.1.1 The email account that you tried to reach does not exist. 550 5.1.1 Learn more at a page"), sender="mailer-daemon@googlemail.example"),
        ("FAILED", "ADDRESS", "5.1.1"),
    ),
    "gmail, refused for us": (
        a_report(a_block("failed", "5.7.26", "smtp; 550-5.7.26 Unauthenticated email is not accepted due to the domain's DMARC policy")),
        ("FAILED", "ABOUT_US", "5.7.26"),
    ),
    "gmail, full": (
        a_report(a_block("failed", "5.2.2", "smtp; 552-5.2.2 The email account that you tried to reach is over quota")),
        ("FAILED", "OTHER", "5.2.2"),
    ),
    "exchange online, not found": (
        a_report(a_block("failed", "5.1.10", "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup"), sender="postmaster@outlook.example"),
        ("FAILED", "ADDRESS", "5.1.10"),
    ),
    "exchange online, blocked": (
        a_report(a_block("failed", "5.7.511", "smtp;550 5.7.511 Access denied, banned sender[192.0.2.7]")),
        ("FAILED", "ABOUT_US", "5.7.511"),
    ),
    "exchange, mailbox disabled": (
        a_report(a_block("failed", "5.2.1", "smtp;550 5.2.1 mailbox disabled")),
        ("FAILED", "ADDRESS", "5.2.1"),
    ),
    "our own sender's address is bad": (
        a_report(a_block("failed", "5.1.8", "smtp; 550 5.1.8 Sender address rejected: Domain not found")),
        ("FAILED", "ABOUT_US", "5.1.8"),
    ),
    "a list of blocked networks, without a code of its own": (
        a_report(a_block("failed", "5.0.0", "smtp; 554 Service unavailable; client host [192.0.2.1.17] blocked using a block list")),
        ("FAILED", "ABOUT_US", "554 refused as unwanted"),
    ),
    "sendmail, no such domain": (
        a_report(a_block("failed", "5.1.2", "smtp; Host unknown (Name server: customer.example: host not found)")),
        ("FAILED", "ADDRESS", "5.1.2"),
    ),
    "german words": (
        a_report(a_block("failed", "5.0.0", "smtp; 550 Benutzer unbekannt")),
        ("FAILED", "ADDRESS", "550 address unknown"),
    ),
    "several recipients, the worst counts": (
        a_report(a_block("delivered", "2.0.0"), a_block("failed", "5.1.1")),
        ("FAILED", "ADDRESS", "5.1.1"),
    ),
    "delivered, as was asked for": (
        a_report(a_block("delivered", "2.1.5")),
        ("DELIVERED", "OTHER", ""),
    ),
    "handed on to where nothing is reported": (
        a_report(a_block("relayed", "2.0.0")),
        ("DELAYED", "OTHER", ""),
    ),
    "qmail": (
        a_plain_mail("MAILER-DAEMON@mx.customer.example", "failure notice", QMAIL),
        ("FAILED", "ADDRESS", "5.1.1"),
    ),
    "exim": (
        a_plain_mail(
            "Mailer-Daemon@mx.customer.example", "Mail delivery failed: returning message to sender", EXIM,
            X_Failed_Recipients=RECIPIENT,
        ),
        ("FAILED", "ADDRESS", "5.2.1"),
    ),
    "exim, without a code": (
        a_plain_mail(
            "Mailer-Daemon@mx.customer.example", "Mail delivery failed: returning message to sender", EXIM_CODELESS,
            X_Failed_Recipients=RECIPIENT,
        ),
        ("FAILED", "OTHER", "unreadable"),
    ),
}  # fmt: skip
