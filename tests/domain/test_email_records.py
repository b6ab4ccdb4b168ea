"""Findings of `dunwell doctor` about the DNS records of a domain."""

import pytest

from dunwell.interfaces.cli.findings.email import DomainRecords, describe_dkim, describe_records

_DOMAIN = "returns.example.com"


def _judge(
    spf: list[str] | None = None, dmarc: list[str] | None = None, mx: list[str] | None = None
) -> list[tuple[str, str]]:
    found = describe_records("provider post", DomainRecords(_DOMAIN, spf, dmarc, mx))
    return [(each.mark, each.words) for each in found]


def test_complete_email_records_are_ok() -> None:
    assert _judge(["v=spf1 mx -all", "other"], ["v=DMARC1; p=reject"], ["mail.example.com."]) == [
        ("ok", "bounces and replies to returns.example.com go to mail.example.com."),
        ("ok", "returns.example.com has SPF"),
        ("ok", "returns.example.com has DMARC, reject"),
    ]


def test_missing_email_records_are_faults() -> None:
    assert _judge([], [], []) == [
        ("FAULT", "returns.example.com has no MX: no bounces and no replies are received"),
        ("FAULT", "returns.example.com has no SPF: many servers refuse its messages"),
        ("note", "returns.example.com has no DMARC"),
    ]


def test_an_unavailable_resolver_is_noted_and_no_fault() -> None:
    words = "the records of returns.example.com were not checked: no resolver answers"
    assert _judge() == [("ok", words)]
    assert describe_dkim("provider post", "s._domainkey.example.com", None).mark == "ok"


@pytest.mark.parametrize(
    ("spf", "words"),
    [
        (["v=spf1 +all"], "the SPF of returns.example.com ends in +all: anyone may send"),
        (["v=spf1 -all", "v=spf1 mx -all"], "returns.example.com has 2 SPF records: none is valid"),
        (["v=spf10 mx"], "returns.example.com has no SPF: many servers refuse its messages"),
    ],
)
def test_spf_without_a_restriction_is_a_fault(spf: list[str], words: str) -> None:
    assert _judge(spf, [], ["mail."])[1] == ("FAULT", words)


def test_a_dmarc_policy_of_none_is_noted() -> None:
    words = "the DMARC of returns.example.com has no effect (p=none)"
    assert _judge(["v=spf1 mx -all"], ["v=DMARC1; p=none"], ["mail."])[2] == ("note", words)


@pytest.mark.parametrize(
    ("texts", "mark"),
    [(["v=DKIM1; k=rsa; p=MIGf"], "ok"), (["v=DKIM1; p="], "FAULT"), ([], "FAULT")],
)
def test_a_dkim_signature_needs_its_key_record(texts: list[str], mark: str) -> None:
    assert describe_dkim("provider post", "s._domainkey.example.com", texts).mark == mark


def test_a_record_that_no_resolver_answered_counts_neither_as_present_nor_as_missing() -> None:
    records = DomainRecords(_DOMAIN, spf=None, dmarc=None, mx=["mail.example.com"])
    mx, spf, dmarc = describe_records("provider post", records)
    assert mx.words == f"bounces and replies to {_DOMAIN} go to mail.example.com"
    assert spf.words == f"the SPF of {_DOMAIN} was not checked: no resolver answers"
    assert dmarc.words == f"the DMARC of {_DOMAIN} was not checked: no resolver answers"
    assert {each.mark for each in (mx, spf, dmarc)} == {"ok"}
