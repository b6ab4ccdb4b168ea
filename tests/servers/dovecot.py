"""A Dovecot server with one mailbox, which is filled by LMTP and read by IMAP."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.debian import find_port, need_program, wait_for

_CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/dovecot.log
protocols = imap lmtp
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
default_internal_user = dovecot
default_login_user = dovenull
mail_location = maildir:{folder}/mail/%u
mail_uid = nobody
mail_gid = nogroup
first_valid_uid = 1
lmtp_rcpt_check_quota = no
auth_mechanisms = plain login
auth_username_format = %Ln
recipient_delimiter = +
passdb {{
  driver = static
  args = password=right
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/home/%u
}}
service imap-login {{
  inet_listener imap {{
    address = 127.0.0.1
    port = {imap_port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp_port}
  }}
}}
"""


@dataclass(frozen=True)
class Dovecot:
    folder: Path
    imap_port: int
    lmtp_port: int

    def deliver(self, user: str, content: bytes, recipient: str) -> None:
        """Deliver mail as a mail server does, with its envelope recipient."""
        head = b"X-Original-To: " + recipient.encode() + b"\r\n"
        with socket.create_connection(("127.0.0.1", self.lmtp_port), 10) as connection:
            file = connection.makefile("rwb")
            for line, code in (
                (None, b"220"), (b"LHLO mail.test", b"250"), (b"MAIL FROM:<>", b"250"),
                (b"RCPT TO:<%s@returns.example.com>" % user.encode(), b"250"), (b"DATA", b"354"),
                (head + content + b"\r\n.", b"250"),
            ):  # fmt: skip
                if line is not None:
                    file.write(line + b"\r\n")
                    file.flush()
                answer = file.readline()
                while answer[3:4] == b"-":
                    answer = file.readline()
                assert answer.startswith(code), (line, answer)

    def forget(self, user: str) -> None:
        """Delete the mailbox. Its successor counts from 1 again under another UIDVALIDITY, which is
        the second of its creation, so this returns only when the second of the deletion has passed.
        """
        shutil.rmtree(self.folder / "mail" / user)
        deleted_in = int(time.time())
        while int(time.time()) < deleted_in + 2:
            time.sleep(0.05)


@contextmanager
def start_dovecot(folder: Path) -> Iterator[Dovecot]:
    program = need_program("dovecot", "dovecot-imapd", "dovecot-lmtpd")
    folder.mkdir(parents=True)
    for name in ("run", "mail", "home"):
        (folder / name).mkdir()
    for parent in (folder, *folder.parents):  # Dovecot's users must be able to reach its folders.
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    for name in ("mail", "home"):
        shutil.chown(folder / name, "nobody", "nogroup")
    made = Dovecot(folder, find_port(), find_port())
    file = folder / "dovecot.conf"
    file.write_text(
        _CONFIGURATION.format(folder=folder, imap_port=made.imap_port, lmtp_port=made.lmtp_port)
    )
    process = subprocess.Popen([program, "-F", "-c", file])
    try:
        wait_for(made.imap_port, process, folder / "dovecot.log")
        yield made
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


@pytest.fixture(scope="session")
def dovecot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    with start_dovecot(tmp_path_factory.mktemp("dovecot") / "own") as started:
        yield started
