"""What doctor says of a mail server: reached, encrypted, let in."""

from pathlib import Path

import pytest

from dunwell.cli.findings.email_lines import check_email_line
from dunwell.installation.lines.email import SmtpLine
from tests.support.certificates import write_certificate
from tests.support.sinks import a_sink
from tests.support.smtp_lines import a_line

_PASSWORD = "lines/post/credentials/passwordFile"
_CREDENTIALS = {"user": "dunwell", "passwordFile": "p"}


async def look(line: SmtpLine, password: bytes = b"right") -> tuple[str, str]:
    found = (await check_email_line("post", line, {_PASSWORD: password}))[0]
    return found.mark, found.words.replace(line.server, "SERVER")


def local(port: int, **given: object) -> SmtpLine:
    """Without a return domain: nothing is looked up."""
    return a_line(port, server=f"localhost:{port}", returnDomain=None, **given)


async def test_a_server_that_lets_us_in_is_well() -> None:
    async with a_sink() as sink:
        assert await look(local(sink.port)) == ("ok", "SERVER lets us in in clear")
    mark, words = await look(local(sink.port))
    assert (mark, words) == ("FAULT", "SERVER does not answer (SMTPConnectError)")


async def test_a_server_without_starttls_is_a_fault() -> None:
    async with a_sink() as sink:
        line = local(sink.port, encryption="STARTTLS")
        assert await look(line) == ("FAULT", "SERVER has no STARTTLS")


@pytest.mark.filterwarnings("ignore")  # aiosmtpd's, of passwords in clear
async def test_certificates_and_passwords_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = write_certificate(tmp_path, "localhost")
    async with a_sink(context=context, auth_required=True) as sink:
        line = local(sink.port, encryption="STARTTLS", credentials=_CREDENTIALS)
        assert await look(line) == ("FAULT", "the certificate of SERVER proves nothing")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert await look(line) == ("ok", "SERVER lets us in by STARTTLS, as dunwell")
        assert await look(line, b"wrong") == ("FAULT", "SERVER does not let us in (535)")


async def test_a_password_that_is_gone_is_a_fault() -> None:
    line = local(25, encryption="STARTTLS", credentials=_CREDENTIALS)
    [found] = await check_email_line("post", line, {})
    assert (found.mark, found.words) == ("FAULT", "cannot be used")
