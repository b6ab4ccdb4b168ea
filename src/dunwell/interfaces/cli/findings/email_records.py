"""What the records of a sender's and a return domain say about our e-mails, as other mail servers
read them: SPF, DKIM, DMARC, MX. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dunwell.interfaces.cli.findings.finding import Finding


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """Texts of TXT records and hosts of MX records; none: nobody answered."""

    domain: str
    spf: Sequence[str] | None
    dmarc: Sequence[str] | None
    mx: Sequence[str] | None


def judge_records(subject: str, records: DomainRecords) -> list[Finding]:
    """Of a line's return domain: other servers ask it for SPF, and send reports to its MX."""
    domain = records.domain
    if records.spf is None and records.mx is None:
        words = f"the records of {domain} were not looked at: no resolver answers"
        return [Finding(subject, words)]
    return [
        _judge_mx(subject, domain, records.mx or ()),
        _judge_spf(subject, domain, records.spf or ()),
        _judge_dmarc(subject, domain, records.dmarc or ()),
    ]


def judge_dkim(subject: str, name: str, texts: Sequence[str] | None) -> Finding:
    """name: SELECTOR._domainkey.DOMAIN."""
    if texts is None:
        return Finding(subject, f"{name} was not looked at: no resolver answers")
    tags = [read_tags(text) for text in texts]
    if not any(each.get("p") for each in tags):
        remedy = f"Publish the key: a TXT record {name} with v=DKIM1; k=rsa; p=..."
        return Finding(subject, f"{name} has no DKIM key: signatures count for nothing", remedy)
    return Finding(subject, f"{name} has the DKIM key")


def read_tags(text: str) -> Mapping[str, str]:
    """Of "v=DMARC1; p=reject"."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): value.strip() for name, _, value in pairs if name.strip()}


def _judge_mx(subject: str, domain: str, hosts: Sequence[str]) -> Finding:
    if not hosts or hosts == ["."]:
        remedy = (
            f"Publish an MX record of {domain} that leads to the mail server before dunwell mail."
        )
        return Finding(subject, f"{domain} has no MX: no bounce and no answer comes back", remedy)
    return Finding(subject, f"what comes back to {domain} goes to {', '.join(sorted(hosts))}")


def _judge_spf(subject: str, domain: str, texts: Sequence[str]) -> Finding:
    found = [text for text in texts if text.lower().split(" ")[0] == "v=spf1"]
    remedy = f'Publish one TXT record of {domain}: "v=spf1 mx -all", with your mail server in it.'
    if not found:
        return Finding(subject, f"{domain} has no SPF: many servers refuse its messages", remedy)
    if len(found) > 1:
        return Finding(subject, f"{domain} has {len(found)} SPF records: none counts", remedy)
    if "+all" in found[0].lower().split():
        return Finding(subject, f"the SPF of {domain} ends in +all: anybody may send", remedy)
    return Finding(subject, f"{domain} has SPF")


def _judge_dmarc(subject: str, domain: str, texts: Sequence[str]) -> Finding:
    found = [read_tags(text) for text in texts if read_tags(text).get("v", "").upper() == "DMARC1"]
    remedy = f'Publish a TXT record _dmarc.{domain}: "v=DMARC1; p=quarantine".'
    if not found:
        return Finding(subject, f"{domain} has no DMARC", remedy, is_note=True)
    policy = found[0].get("p", "")
    if policy not in ("quarantine", "reject"):
        words = f"the DMARC of {domain} asks for nothing (p={policy or 'absent'})"
        return Finding(subject, words, remedy, is_note=True)
    return Finding(subject, f"{domain} has DMARC, {policy}")
