"""Check delivery providers for e-mail: whether the server accepts the login, and what the SPF, DKIM
and DMARC records say."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiosmtplib
import asyncpg
import dns.asyncresolver
import dns.exception
import dns.resolver

from dunwell.accounts.installation.delivery_providers import ReturnMailbox, SmtpProvider
from dunwell.accounts.installation.store import load_installation, load_secrets
from dunwell.adapters.channels.smtp.channel import build_mail_server, get_secret_text, open_signer
from dunwell.adapters.channels.smtp.connections import Connections, quit_connection
from dunwell.adapters.mail.mailboxes import MailboxRefused, MailboxUnavailable, check_mailbox
from dunwell.contact.sending.channel import DeliveryProviderUnusable
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """The texts of TXT records and hosts of MX records of a domain.

    None means that no resolver answered.
    """

    domain: str
    spf: Sequence[str] | None
    dmarc: Sequence[str] | None
    mx: Sequence[str] | None


def describe_records(subject: str, records: DomainRecords) -> list[DoctorFinding]:
    """Check the records of a return domain: other servers use its SPF record, and send bounces to
    its MX."""
    domain = records.domain
    checks = {
        "MX": (_check_mx, records.mx), "SPF": (_check_spf, records.spf),
        "DMARC": (_check_dmarc, records.dmarc),
    }  # fmt: skip
    if all(answers is None for _, answers in checks.values()):
        words = f"the records of {domain} were not checked: no resolver answers"
        return [DoctorFinding(subject, words)]
    return [
        DoctorFinding(subject, f"the {kind} of {domain} was not checked: no resolver answers")
        if answers is None
        else check(subject, domain, answers)
        for kind, (check, answers) in checks.items()
    ]


def describe_dkim(subject: str, name: str, texts: Sequence[str] | None) -> DoctorFinding:
    """Check a DKIM key. `name` is SELECTOR._domainkey.DOMAIN."""
    if texts is None:
        return DoctorFinding(subject, f"{name} was not checked: no resolver answers")
    tags = [parse_tags(text) for text in texts]
    if not any(each.get("p") for each in tags):
        remedy = f"Publish the key: a TXT record {name} with v=DKIM1; k=rsa; p=..."
        return DoctorFinding(subject, f"{name} has no DKIM key: signatures are not valid", remedy)
    return DoctorFinding(subject, f"{name} has the DKIM key")


def parse_tags(text: str) -> Mapping[str, str]:
    """Parse the tags of a record such as "v=DMARC1; p=reject"."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): value.strip() for name, _, value in pairs if name.strip()}


def _check_mx(subject: str, domain: str, hosts: Sequence[str]) -> DoctorFinding:
    if not hosts or hosts == ["."]:
        remedy = (
            f"Publish an MX record of {domain} for the mail server that forwards to dunwell mail."
        )
        return DoctorFinding(
            subject, f"{domain} has no MX: no bounces and no replies are received", remedy
        )
    return DoctorFinding(
        subject, f"bounces and replies to {domain} go to {', '.join(sorted(hosts))}"
    )


def _check_spf(subject: str, domain: str, texts: Sequence[str]) -> DoctorFinding:
    spf_records = [text for text in texts if text.lower().split(" ")[0] == "v=spf1"]
    remedy = f'Publish one TXT record of {domain}: "v=spf1 mx -all", with your mail server in it.'
    if not spf_records:
        return DoctorFinding(
            subject, f"{domain} has no SPF: many servers refuse its messages", remedy
        )
    if len(spf_records) > 1:
        return DoctorFinding(
            subject, f"{domain} has {len(spf_records)} SPF records: none is valid", remedy
        )
    if "+all" in spf_records[0].lower().split():
        return DoctorFinding(subject, f"the SPF of {domain} ends in +all: anyone may send", remedy)
    return DoctorFinding(subject, f"{domain} has SPF")


def _check_dmarc(subject: str, domain: str, texts: Sequence[str]) -> DoctorFinding:
    dmarc_records = [
        parse_tags(text) for text in texts if parse_tags(text).get("v", "").upper() == "DMARC1"
    ]
    remedy = f'Publish a TXT record _dmarc.{domain}: "v=DMARC1; p=quarantine".'
    if not dmarc_records:
        return DoctorFinding(subject, f"{domain} has no DMARC", remedy, is_note=True)
    policy = dmarc_records[0].get("p", "")
    if policy not in ("quarantine", "reject"):
        words = f"the DMARC of {domain} has no effect (p={policy or 'absent'})"
        return DoctorFinding(subject, words, remedy, is_note=True)
    return DoctorFinding(subject, f"{domain} has DMARC, {policy}")


_RESOLVER_SECONDS = 5.0
# OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_HOSTNAME_MISMATCH.
_EXPIRED, _OTHER_NAME = 10, 62
_NO_RECORD_ERRORS = (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer)


async def check_email_providers(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check all delivery providers for e-mail. Return nothing if the database is not migrated or
    does not respond: other checks report that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            providers = (await load_installation(connection)).installation.delivery_providers or {}
            secrets = await load_secrets(connection, KeyRing(settings.secret_key))
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    findings: list[DoctorFinding] = []
    for name, provider in providers.items():
        if isinstance(provider, SmtpProvider):
            findings += await check_email_provider(name, provider, secrets)
    return findings


async def check_email_provider(
    name: str, provider: SmtpProvider, secrets: Mapping[str, bytes]
) -> list[DoctorFinding]:
    subject = f"provider {name}"
    try:
        open_signer(name, provider, secrets)
        login = await _check_login(
            subject, provider, Connections(build_mail_server(name, provider, secrets), limit=1)
        )
    except DeliveryProviderUnusable as error:
        return [DoctorFinding(subject, "cannot be used", str(error))]
    mailbox = (
        []
        if provider.mailbox is None
        else [await _check_mailbox_login(name, provider.mailbox, secrets)]
    )
    return [login, *mailbox, *await resolve_records(subject, provider)]


async def _check_mailbox_login(
    name: str, mailbox: ReturnMailbox, secrets: Mapping[str, bytes]
) -> DoctorFinding:
    """Check that the mailbox can be read. No message is removed from it."""
    subject, server = f"provider {name}", mailbox.server
    try:
        password = get_secret_text(
            secrets, f"deliveryProviders/{name}/mailbox/credentials/passwordFile"
        )
        await asyncio.to_thread(check_mailbox, mailbox, password.strip("\r\n"))
    except DeliveryProviderUnusable as error:
        return DoctorFinding(subject, "the mailbox cannot be used", str(error))
    except MailboxRefused:
        remedy = "Correct user and passwordFile of its mailbox, and run: dunwell apply FILE"
        return DoctorFinding(subject, f"the mailbox at {server} refuses the login", remedy)
    except MailboxUnavailable as error:
        remedy = "Correct server, encryption and folder of its mailbox, or check the firewall."
        return DoctorFinding(subject, f"the mailbox at {server} is unavailable: {error}", remedy)
    who = mailbox.credentials.user
    return DoctorFinding(subject, f"the mailbox at {server} accepts the login as {who}")


async def _check_login(
    subject: str, provider: SmtpProvider, connections: Connections
) -> DoctorFinding:
    server = provider.server
    try:
        client = await connections.connect()
    except aiosmtplib.SMTPAuthenticationError as error:
        remedy = "Correct user and passwordFile, and run: dunwell apply FILE"
        return DoctorFinding(subject, f"{server} refuses the login ({error.code})", remedy)
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as error:
        return _describe_failed_connection(subject, provider, error)
    await quit_connection(client)
    how = {"NONE": "unencrypted", "TLS": "with TLS", "STARTTLS": "with STARTTLS"}[
        provider.encryption
    ]
    who = "" if provider.credentials is None else f", as {provider.credentials.user}"
    return DoctorFinding(subject, f"{server} accepts the login {how}{who}")


def _describe_failed_connection(
    subject: str, provider: SmtpProvider, error: Exception
) -> DoctorFinding:
    causes = [error, error.__cause__, error.__context__]
    for each in causes:
        if isinstance(each, ssl.SSLCertVerificationError):
            return _describe_certificate(subject, provider, each)
    if any(isinstance(each, ssl.SSLError) for each in causes):
        remedy = 'Change "encryption": port 465 usually needs TLS, port 587 STARTTLS.'
        return DoctorFinding(
            subject, f"{provider.server} does not speak {provider.encryption}", remedy
        )
    if isinstance(error, aiosmtplib.SMTPNotSupported) or "STARTTLS" in str(error):
        remedy = 'Enable STARTTLS there, or use "encryption: TLS" with its port.'
        return DoctorFinding(subject, f"{provider.server} has no {provider.encryption}", remedy)
    remedy = "Start it, correct the provider's server, or check the firewall."
    return DoctorFinding(
        subject, f"{provider.server} does not respond ({type(error).__name__})", remedy
    )


def _describe_certificate(
    subject: str, provider: SmtpProvider, error: ssl.SSLCertVerificationError
) -> DoctorFinding:
    """Describe the fault by OpenSSL's error code."""
    server = provider.server
    if error.verify_code == _EXPIRED:
        words = f"the certificate of {server} has expired"
        remedy = "Renew it there, and make sure that the mail server uses the new one."
    elif error.verify_code == _OTHER_NAME:
        words = f"the certificate of {server} is for another name"
        remedy = "Use the name in the certificate as the provider's server."
    else:
        words = f"this machine does not trust the issuer of the certificate of {server}"
        remedy = "Use a certificate from a public authority, or set yours: SSL_CERT_FILE=FILE."
    return DoctorFinding(subject, words, remedy)


async def resolve_records(subject: str, provider: SmtpProvider) -> list[DoctorFinding]:
    """Look up the records that other servers look up for the provider's domains."""
    findings: list[DoctorFinding] = []
    if provider.return_domain is None:
        words = "has no returnDomain: bounces are not received"
        findings.append(
            DoctorFinding(subject, words, "Set one that has its own MX record.", is_note=True)
        )
    else:
        domain = provider.return_domain
        records = DomainRecords(
            domain,
            await _resolve(domain, "TXT"),
            await _resolve(f"_dmarc.{domain}", "TXT"),
            await _resolve(domain, "MX"),
        )
        findings += describe_records(subject, records)
    if provider.dkim is not None:
        name = f"{provider.dkim.selector}._domainkey.{provider.dkim.domain}"
        findings.append(describe_dkim(subject, name, await _resolve(name, "TXT")))
    return findings


async def _resolve(name: str, kind: str) -> list[str] | None:
    """Return the texts of the TXT records or the hosts of the MX records. Return None if no
    resolver answers."""
    try:
        answer = await dns.asyncresolver.resolve(name, kind, lifetime=_RESOLVER_SECONDS)
    except _NO_RECORD_ERRORS:
        return []
    except (dns.exception.DNSException, OSError):
        return None
    if kind == "MX":
        return [str(each.exchange) for each in answer]
    return [b"".join(each.strings).decode("utf-8", errors="replace") for each in answer]
