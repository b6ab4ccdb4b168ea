"""Findings of `doctor` about a mail server (connection, encryption, sign-in) and DNS records."""

from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.installation.delivery_providers import SmtpProvider
from dunwell.interfaces.cli.findings.email import check_email_provider, resolve_records
from tests.support.certificates import write_certificate
from tests.support.mail_servers import a_mail_server
from tests.support.name_server import a_name_server
from tests.support.smtp_providers import a_provider

_PASSWORD = "deliveryProviders/post/credentials/passwordFile"
_CREDENTIALS = {"user": "dunwell", "passwordFile": "p"}


async def list_findings(provider: SmtpProvider, password: bytes = b"right") -> tuple[str, str]:
    found = (await check_email_provider("post", provider, {_PASSWORD: password}))[0]
    return found.mark, found.words.replace(provider.server, "SERVER")


def local(port: int, **given: object) -> SmtpProvider:
    """Return a provider without a return domain, for which no DNS records are queried."""
    return a_provider(port, server=f"localhost:{port}", returnDomain=None, **given)


async def test_a_server_that_accepts_the_sign_in_has_no_finding() -> None:
    async with a_mail_server() as sink:
        assert await list_findings(local(sink.port)) == (
            "ok",
            "SERVER accepts the login unencrypted",
        )
    mark, words = await list_findings(local(sink.port))
    assert (mark, words) == ("FAULT", "SERVER does not respond (SMTPConnectError)")


async def test_a_server_without_starttls_is_a_finding() -> None:
    async with a_mail_server() as sink:
        provider = local(sink.port, encryption="STARTTLS")
        assert await list_findings(provider) == ("FAULT", "SERVER has no STARTTLS")


@pytest.mark.filterwarnings("ignore")  # aiosmtpd warns about passwords without encryption.
async def test_certificates_and_passwords_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = write_certificate(tmp_path, "localhost")
    async with a_mail_server(context=context, auth_required=True) as sink:
        provider = local(sink.port, encryption="STARTTLS", credentials=_CREDENTIALS)
        untrusted = "this machine does not trust the issuer of the certificate of SERVER"
        assert await list_findings(provider) == ("FAULT", untrusted)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert await list_findings(provider) == (
            "ok",
            "SERVER accepts the login with STARTTLS, as dunwell",
        )
        assert await list_findings(provider, b"wrong") == (
            "FAULT",
            "SERVER refuses the login (535)",
        )


async def test_a_missing_password_is_a_finding() -> None:
    provider = local(25, encryption="STARTTLS", credentials=_CREDENTIALS)
    [found] = await check_email_provider("post", provider, {})
    assert (found.mark, found.words) == ("FAULT", "cannot be used")


@pytest.mark.parametrize(
    ("host", "lasts", "words"),
    [
        ("localhost", -timedelta(hours=1), "the certificate of SERVER has expired"),
        ("other.example", timedelta(days=1), "the certificate of SERVER is for another name"),
    ],
)
async def test_the_finding_names_the_fault_of_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, lasts: timedelta, words: str
) -> None:
    context = write_certificate(tmp_path, host, lasts=lasts)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    async with a_mail_server(context=context) as sink:
        provider = local(sink.port, encryption="STARTTLS")
        assert await list_findings(provider) == ("FAULT", words)


async def test_the_records_are_queried_from_a_resolver_that_responds() -> None:
    """The first name server has faulty and missing records, the second one correct records."""
    wrong = {("returns.example.com", "TXT"): ["v=spf1 +all"]}
    provider = a_provider(9, dkim={"domain": "example.com", "selector": "s", "keyFile": "k"})
    async with a_name_server(wrong):
        found = await resolve_records("provider post", provider)
    assert [(each.mark, each.words) for each in found] == [
        ("FAULT", "returns.example.com has no MX: no bounces and no replies are received"),
        ("FAULT", "the SPF of returns.example.com ends in +all: anyone may send"),
        ("note", "returns.example.com has no DMARC"),
        (
            "FAULT",
            "s._domainkey.example.com has no DKIM key: signatures are not valid",
        ),
    ]  # fmt: skip
    assert all(each.remedy and "ublish" in each.remedy for each in found)
    right = {
        ("returns.example.com", "TXT"): ["v=spf1 mx -all"],
        ("returns.example.com", "MX"): ["10 mail.example.com."],
        ("_dmarc.returns.example.com", "TXT"): ["v=DMARC1; p=reject"],
        ("s._domainkey.example.com", "TXT"): ["v=DKIM1; k=rsa; p=MIGf"],
    }
    async with a_name_server(right):
        found = await resolve_records("provider post", provider)
    assert {each.mark for each in found} == {"ok"}


async def test_an_unavailable_resolver_is_not_reported_as_a_fault() -> None:
    async with a_name_server(None):
        [found, _] = await resolve_records(
            "provider post",
            a_provider(9, dkim={"domain": "e.example", "selector": "s", "keyFile": "k"}),
        )
    assert (found.mark, "no resolver answers" in found.words) == ("ok", True)
