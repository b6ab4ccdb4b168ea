"""All kinds of lines, and what is wrong with some beyond their shapes. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import to_builtins

from dunwell.accounts.installation.lines.email import SmtpLine
from dunwell.accounts.installation.lines.letters import FolderLine, SftpLine
from dunwell.accounts.installation.lines.sms import KannelLine, TwilioLine, find_gateway_faults
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

Line = SmtpLine | KannelLine | TwilioLine | FolderLine | SftpLine
_LOOPBACK = ("127.", "localhost", "[::1]", "::1")


def list_line_secrets(lines: Mapping[str, Line]) -> dict[str, str]:
    """By the name a secret is kept under, as "lines/post/credentials/passwordFile": its file."""
    found: dict[str, str] = {}
    _collect(to_builtins(dict(lines)), "lines", found)
    return found


def _collect(value: Any, path: str, found: dict[str, str]) -> None:
    for name, part in value.items() if isinstance(value, dict) else ():
        if name.endswith("File") and isinstance(part, str):
            found[f"{path}/{name}"] = part
        _collect(part, f"{path}/{name}", found)


def find_line_faults(lines: Mapping[str, Line]) -> Iterator[Fault]:
    """With pointers into the file."""
    for name, line in lines.items():
        if isinstance(line, SmtpLine):
            yield from _find_smtp_faults(name, line)
        if isinstance(line, KannelLine | TwilioLine):
            yield from find_gateway_faults(name, line)
        if isinstance(line, SftpLine) and (line.key_file is None) == (line.password_file is None):
            words = 'Give "keyFile" or "passwordFile", and not both.'
            yield Fault(render_pointer(["lines", name, "keyFile"]), words, "REQUIRED")


def _find_smtp_faults(name: str, line: SmtpLine) -> Iterator[Fault]:
    if line.encryption == "NONE" and not line.server.startswith(_LOOPBACK):
        words = "Only a server on this machine is spoken to in clear; use STARTTLS or TLS."
        yield Fault(render_pointer(["lines", name, "encryption"]), words, "INVALID")
    if line.mailbox is not None and line.return_domain is None:
        words = 'A mailbox is looked into for what comes back: name the "returnDomain" too.'
        yield Fault(render_pointer(["lines", name, "returnDomain"]), words, "REQUIRED")
