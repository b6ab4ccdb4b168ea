"""Findings of `dunwell doctor` that depend on settings only."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.interfaces.cli.doctor import check_metrics, check_tls
from dunwell.interfaces.cli.findings.merchants import (
    check_merchant,
    check_operator,
    describe_merchant_storage,
)
from dunwell.operations.recovery.archive import ArchiveStatus, ServerLog, describe_archive
from dunwell.platform.config import load_settings
from tests.domain.test_config_settings import PRODUCTION
from tests.support.merchants import CONFIGURATION
from tests.support.operators import AGENCY, OWN

_URL = "postgresql://dunwell:geheim@db.example/dunwell?sslmode="


@pytest.mark.parametrize(
    ("mode", "mark", "words"),
    [
        ("require", "note", "sslmode=require encrypts without verifying the server"),
        ("verify-ca", "note", "but not the server's name"),
        ("verify-full", "ok", "the server's name is verified"),
    ],
)
def test_the_doctor_names_the_tls_mode_that_verifies_the_server(
    mode: str, mark: str, words: str
) -> None:
    finding = check_tls(load_settings({**PRODUCTION, "DUNWELL_DATABASE_URL": _URL + mode}))

    assert (finding.mark, finding.is_fault) == (mark, False)
    assert words in finding.words
    assert ("sslmode=verify-full" in (finding.remedy or "")) is (mark == "note")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("disable", "sslmode=disable neither encrypts nor verifies the server"),
        ("prefer", "sslmode=prefer may not encrypt, and does not verify the server"),
    ],
)
def test_a_tls_mode_without_encryption_is_reported_for_a_database_on_this_machine(
    mode: str, words: str
) -> None:
    url = f"postgresql://dunwell:geheim@127.0.0.1/dunwell?sslmode={mode}"

    finding = check_tls(load_settings({**PRODUCTION, "DUNWELL_DATABASE_URL": url}))

    assert finding.mark == "note"
    assert words in finding.words


def test_a_database_on_this_machine_needs_no_tls() -> None:
    url = "postgresql:///dunwell?host=/run/postgresql"

    finding = check_tls(load_settings({**PRODUCTION, "DUNWELL_DATABASE_URL": url}))

    assert (finding.mark, finding.remedy) == ("ok", None)


def test_the_doctor_says_where_metrics_are_served() -> None:
    there = load_settings({**PRODUCTION, "DUNWELL_OPERATOR_BIND": "10.0.0.7:9100"})

    nowhere, somewhere = check_metrics(load_settings(PRODUCTION)), check_metrics(there)

    assert (nowhere.mark, somewhere.mark) == ("note", "ok")
    assert "DUNWELL_OPERATOR_BIND" in (nowhere.remedy or "")
    assert "http://10.0.0.7:9100" in somewhere.words


def test_an_installation_without_an_operator_is_noted() -> None:
    found = check_operator(None)
    assert (found.mark, found.is_fault) == ("note", False)
    assert "the legal notice names only the creditor" in found.words


def test_without_an_operator_every_missing_legal_detail_is_listed() -> None:
    bare = msgspec.structs.replace(CONFIGURATION, legal=None, contact=None, privacy=None)
    merchant = Merchant(7, "nordwind", "Nordwind", True, 1, bare, None)
    found = check_merchant(merchant, None)
    assert found is not None
    assert (found.mark, found.is_fault) == ("note", False)
    assert all(f"{key}: " in found.words for key in ("legal", "contact", "privacy"))
    assert "a sole trader names the owner" in found.words
    # Next to the legal notice of an operator, a merchant without details shows nothing yet.
    assert check_merchant(merchant, OWN) is None


def test_a_debt_collector_without_registration_is_noted() -> None:
    unregistered = msgspec.structs.replace(AGENCY, registration=None)
    assert check_operator(AGENCY).mark == "ok"
    assert check_operator(unregistered).mark == "note"
    assert check_operator(OWN).words == "Kontor Inkasso GmbH is the creditors' own service"


@pytest.mark.parametrize(("zone", "mark"), [("Europe/Berlin", "FAULT"), ("Europe/Paris", "note")])
def test_missing_legal_details_of_a_merchant_are_named_with_the_reason(
    zone: str, mark: str
) -> None:
    configuration = msgspec.structs.replace(CONFIGURATION, timezone=zone, privacy=None)
    found = check_merchant(Merchant(7, "nordwind", "Nordwind", True, 1, configuration, None), OWN)
    assert found is not None
    assert found.mark == mark
    assert "nordwind lacks privacy: Articles 13 and 14 GDPR" in found.words


def test_a_complete_merchant_is_not_mentioned() -> None:
    whole = Merchant(7, "n", "N", True, 1, CONFIGURATION, None)
    assert (check_merchant(whole, None), check_merchant(whole, OWN)) == (None, None)


NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_ROOM = "Check that DUNWELL_ARCHIVE_DIR exists and has space; postgres.log shows the error."
_OLD = "The log of dunwell up shows why no newer one was taken."


@pytest.mark.parametrize(
    ("until", "based", "is_failing", "words", "remedy"),
    [
        (0.5, 1, False, "by 2 base backups", None),
        # More than five minutes behind, or the server cannot write its log there.
        (5, 1, False, "by 2 base backups", None),
        (5.1, 1, False, "; 48 MiB of log are on this host", _ROOM),
        (0.5, 1, True, "; 48 MiB of log are on this host", _ROOM),
        # A base backup is due each week; a day later it is old.
        (0.5, 8, False, "by 2 base backups", None),
        (0.5, 8.1, False, "; its last base backup is from 2026-02-22", _OLD),
        # Loss is reported before delay.
        (60, 30, False, "; 48 MiB of log are on this host", _ROOM),
    ],
)
def test_a_late_archive_or_an_old_base_backup_is_reported(
    until: float, based: float, is_failing: bool, words: str, remedy: str | None
) -> None:
    """Describe an archive that reaches until `until` minutes ago, with a base backup `based` days
    old."""
    reaches, based_at = NOW - timedelta(minutes=until), NOW - timedelta(days=based)
    log = ServerLog(NOW - timedelta(days=90), NOW, 48 << 20, is_failing)
    described = describe_archive(ArchiveStatus(2, based_at, reaches), log)
    assert described[0].startswith(f"reaches until {reaches}")
    assert words in described[0]
    assert described[1] == remedy


@pytest.mark.parametrize(("minutes", "remedy"), [(5, None), (5.1, _ROOM)])
def test_an_empty_archive_is_reported_once_the_server_has_run_for_a_while(
    minutes: float, remedy: str | None
) -> None:
    log = ServerLog(NOW - timedelta(minutes=minutes), NOW, 16 << 20, is_failing=False)
    described = describe_archive(ArchiveStatus(0, None, None), log)
    assert "it is still empty" in described[0]
    assert described[1] == remedy


def test_the_doctor_names_merchants_that_are_near_their_storage_limit() -> None:
    mib = 1024 * 1024

    [without_merchants] = describe_merchant_storage([], 10_240)
    found = describe_merchant_storage([("nordwind", 10_240 * mib), ("hansen", 8_192 * mib)], 10_240)

    assert without_merchants.mark == "ok"
    assert [each.mark for each in found] == ["note", "note"]
    assert [each.words for each in found] == [
        "nordwind uses 100 % of 10,240 MiB", "hansen uses 80 % of 10,240 MiB",
    ]  # fmt: skip
    assert "DUNWELL_MERCHANT_STORAGE_MIB" in (found[0].remedy or "")
