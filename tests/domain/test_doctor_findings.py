"""What `dunwell doctor` makes of settings alone."""

import pytest

from dunwell.cli.doctor import check_figures, check_tls
from dunwell.config import load_settings
from tests.domain.test_config_settings import PRODUCTION

_URL = "postgresql://dunwell:geheim@db.example/dunwell?sslmode="


@pytest.mark.parametrize(
    ("mode", "mark", "words"),
    [
        ("require", "note", "sslmode=require encrypts, and proves no server"),
        ("verify-ca", "note", "not that it is this server"),
        ("verify-full", "ok", "the server proves its name"),
    ],
)
def test_the_doctor_says_which_mode_proves_the_server(mode: str, mark: str, words: str) -> None:
    finding = check_tls(load_settings({**PRODUCTION, "DUNWELL_DATABASE_URL": _URL + mode}))

    assert (finding.mark, finding.is_fault) == (mark, False)
    assert words in finding.words
    assert ("sslmode=verify-full" in (finding.remedy or "")) is (mark == "note")


def test_a_database_on_this_machine_needs_no_tls() -> None:
    url = "postgresql:///dunwell?host=/run/postgresql"

    finding = check_tls(load_settings({**PRODUCTION, "DUNWELL_DATABASE_URL": url}))

    assert (finding.mark, finding.remedy) == ("ok", None)


def test_the_doctor_says_where_figures_are() -> None:
    there = load_settings({**PRODUCTION, "DUNWELL_OPERATOR_BIND": "10.0.0.7:9100"})

    nowhere, somewhere = check_figures(load_settings(PRODUCTION)), check_figures(there)

    assert (nowhere.mark, somewhere.mark) == ("note", "ok")
    assert "DUNWELL_OPERATOR_BIND" in (nowhere.remedy or "")
    assert "http://10.0.0.7:9100" in somewhere.words
