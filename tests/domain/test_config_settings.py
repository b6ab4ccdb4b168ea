"""Settings: defaults, files, and all faults reported at once."""

import base64
import secrets
from datetime import date
from pathlib import Path

import pytest

from dunwell.platform.config import InvalidSettings, load_settings, render_settings
from dunwell.platform.config.settings import parse_database_address
from tests.support.certificates import write_certificate

KEY = base64.b64encode(secrets.token_bytes(32)).decode()
PRODUCTION = {
    "DUNWELL_PROFILE": "production",
    "DUNWELL_DATABASE_URL": "postgresql://dunwell:geheim@db.example/dunwell?sslmode=verify-full",
    "DUNWELL_SECRET_KEY": KEY,
    "DUNWELL_PUBLIC_URL": "https://claims.example",
    "DUNWELL_HOST": "0.0.0.0",
}


def find_faults(environment: dict[str, str], **flags: str | None) -> list[str]:
    with pytest.raises(InvalidSettings) as caught:
        load_settings(environment, **flags)
    return [fault.split(":")[0] for fault in caught.value.faults]


def test_defaults_are_those_of_development_on_loopback(tmp_path: Path) -> None:
    settings = load_settings({"DUNWELL_DATA_DIR": str(tmp_path)})
    assert settings.is_development
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.public_url == "http://127.0.0.1:8000"
    assert settings.files_url == (tmp_path / "files").as_uri()
    assert settings.database_url is None


def test_a_flag_wins_over_the_environment(tmp_path: Path) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_PORT": "8001"}
    assert load_settings(environment, port="9000").port == 9000
    assert load_settings(environment, port=None).port == 8001


@pytest.mark.parametrize("given", ["9100", "a b:1", "127.0.0.1:0", "127.0.0.1:65536", "::1:9100"])
def test_the_operator_bind_address_is_a_host_and_a_port(tmp_path: Path, given: str) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_OPERATOR_BIND": given}
    assert find_faults(environment) == ["DUNWELL_OPERATOR_BIND"]
    for bind in ("127.0.0.1:9100", "[::1]:9100", "localhost:9100"):
        environment["DUNWELL_OPERATOR_BIND"] = bind
        assert str(load_settings(environment).operator_bind) == bind


@pytest.mark.parametrize("given", ["0", "-1", "10 GiB", "1.5", "9" * 11, "²"])
def test_the_storage_limit_of_a_merchant_is_a_whole_number_of_mebibytes(
    tmp_path: Path, given: str
) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path)}
    assert load_settings(environment).merchant_storage_bytes == 10 * 1024**3
    environment["DUNWELL_MERCHANT_STORAGE_MIB"] = "512"
    assert load_settings(environment).merchant_storage_bytes == 512 * 1024**2
    environment["DUNWELL_MERCHANT_STORAGE_MIB"] = given
    assert find_faults(environment) == ["DUNWELL_MERCHANT_STORAGE_MIB"]


def test_the_operator_port_is_separate_and_on_loopback_in_development(tmp_path: Path) -> None:
    for bind in ("127.0.0.1:8000", "0.0.0.0:9100"):
        environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_OPERATOR_BIND": bind}
        assert find_faults(environment) == ["DUNWELL_OPERATOR_BIND"]


def test_the_secret_key_is_generated_once_and_private(tmp_path: Path) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path)}
    first, second = load_settings(environment), load_settings(environment)
    assert first.secret_key == second.secret_key
    assert [(version, len(key)) for version, key in first.secret_key.items()] == [(1, 32)]
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret.key"]


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    faults = find_faults(
        {
            "DUNWELL_DATA_DIR": str(tmp_path),
            "DUNWELL_PORT": "http",
            "DUNWELL_LOG_LEVEL": "loud",
            "DUNWELL_HOST": "0.0.0.0",
            "DUNWELL_SECRET_KEY": "short",
            "DUNWELL_DATABASE_URL": "postgresql://db.example/dunwell",
            "DUNWELL_FILES_URL": "ftp://files.example",
            "DUNWELL_PUBLIC_URL": "claims.example",
        }
    )
    assert sorted(faults) == [
        "DUNWELL_DATABASE_URL",
        "DUNWELL_FILES_URL",
        "DUNWELL_HOST",
        "DUNWELL_LOG_LEVEL",
        "DUNWELL_PORT",
        "DUNWELL_PUBLIC_URL",
        "DUNWELL_SECRET_KEY",
    ]


def test_a_misspelt_setting_is_reported_with_the_right_name(tmp_path: Path) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_PROFLE": "production"}
    with pytest.raises(InvalidSettings, match="did you mean DUNWELL_PROFILE"):
        load_settings(environment)


def test_safe_production_settings_are_accepted() -> None:
    settings = load_settings(PRODUCTION)
    assert not settings.is_development
    assert settings.public_url == "https://claims.example"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DUNWELL_DATABASE_URL", ""),
        ("DUNWELL_DATABASE_URL", "postgresql://dunwell@db.example/dunwell"),
        ("DUNWELL_DATABASE_URL", "postgresql://dunwell@db.example/dunwell?sslmode=prefer"),
        ("DUNWELL_SECRET_KEY", ""),
        ("DUNWELL_SECRET_KEY", base64.b64encode(b"a" * 32).decode()),
        ("DUNWELL_PUBLIC_URL", "http://claims.example"),
        ("DUNWELL_PUBLIC_URL", "https://claims.example/api"),
    ],
)
def test_production_refuses_an_unsafe_setting(name: str, value: str) -> None:
    assert find_faults({**PRODUCTION, name: value}) == [name]


def test_production_reports_all_unsafe_settings_at_once() -> None:
    assert find_faults({"DUNWELL_PROFILE": "production"}) == [
        "DUNWELL_SECRET_KEY",
        "DUNWELL_DATABASE_URL",
        "DUNWELL_PUBLIC_URL",
    ]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///dunwell",
        "postgresql://postgres@/postgres?host=/run/x",
        "postgresql://[::1]/x",
    ],
)
def test_development_accepts_a_local_database(tmp_path: Path, address: str) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_DATABASE_URL": address}
    assert load_settings(environment).database_url == address


@pytest.mark.parametrize(
    ("address", "drivers"),
    [
        ("postgresql://d:x@h/d?sslmode=require", "postgresql://d:x@h/d?sslmode=require"),
        ("postgresql://d@h:6432/d?pooler=transaction", "postgresql://d@h:6432/d"),
        (
            "postgresql:///d?host=%2Frun%2Fa%20b&pooler=transaction",
            "postgresql:///d?host=%2Frun%2Fa%20b",
        ),
    ],
)
def test_the_pooler_parameter_is_removed_from_the_database_address(
    address: str, drivers: str
) -> None:
    read = parse_database_address(address)
    assert (read.url, read.is_pooled) == (drivers, "pooler" in address)


@pytest.mark.parametrize("pooler", ["session", "", "transactions"])
def test_an_unknown_pooler_is_a_fault(pooler: str) -> None:
    address = f"{PRODUCTION['DUNWELL_DATABASE_URL']}&pooler={pooler}"
    assert find_faults({**PRODUCTION, "DUNWELL_DATABASE_URL": address}) == ["DUNWELL_DATABASE_URL"]


def test_an_address_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_PUBLIC_URL": "http://[x"}
    assert find_faults(environment) == ["DUNWELL_PUBLIC_URL"]


def test_shown_settings_contain_no_secret() -> None:
    shown = render_settings(load_settings(PRODUCTION), PRODUCTION)
    assert shown["DUNWELL_DATABASE_URL"] == shown["DUNWELL_SECRET_KEY"] == "(set)"
    assert shown["DUNWELL_PUBLIC_URL"] == "https://claims.example"
    assert "geheim" not in str(shown)
    assert "geheim" not in repr(load_settings(PRODUCTION))


def test_shown_settings_name_the_file_of_the_secret_key(tmp_path: Path) -> None:
    assert render_settings(load_settings(PRODUCTION), PRODUCTION)["DUNWELL_SECRET_KEY_FILE"] == ""
    path = tmp_path / "key"
    path.write_text(PRODUCTION["DUNWELL_SECRET_KEY"])
    environment = {**PRODUCTION, "DUNWELL_SECRET_KEY_FILE": str(path)}
    del environment["DUNWELL_SECRET_KEY"]
    shown = render_settings(load_settings(environment), environment)
    assert shown["DUNWELL_SECRET_KEY"] == "(set)"
    assert shown["DUNWELL_SECRET_KEY_FILE"] == str(path)


@pytest.mark.parametrize("number", ["+49 40 1234560", "+1 (201) 555-0123", "+4930901820"])
def test_a_phone_number_with_country_code_is_accepted(number: str) -> None:
    settings = load_settings({**PRODUCTION, "DUNWELL_CONTACT_PHONE": number})
    assert settings.contact_phone == number
    assert load_settings(PRODUCTION).contact_phone is None


@pytest.mark.parametrize(
    "number",
    [
        "040 1234560",
        "0049 40 1234560",
        "+49 1",
        "+49 40 1234560 ext. 5",
        "+1 201 555 01",
        "+999 1234567",
        "call us",
    ],
)
def test_a_phone_number_without_country_code_is_a_fault(number: str) -> None:
    environment = {**PRODUCTION, "DUNWELL_CONTACT_PHONE": number}
    assert find_faults(environment) == ["DUNWELL_CONTACT_PHONE"]


def test_the_retirement_dates_of_scenarios_are_read_and_shown() -> None:
    days = {
        "DUNWELL_SCENARIOS_DEPRECATED_ON": "2026-06-01",
        "DUNWELL_SCENARIOS_RETIRED_ON": "2027-01-31",
    }
    settings = load_settings({**PRODUCTION, **days})
    assert (settings.scenarios_deprecated_on, settings.scenarios_retired_on) == (
        date(2026, 6, 1), date(2027, 1, 31),
    )  # fmt: skip
    assert days.items() <= render_settings(settings, {}).items()
    assert (
        render_settings(load_settings(PRODUCTION), PRODUCTION)["DUNWELL_SCENARIOS_RETIRED_ON"] == ""
    )


@pytest.mark.parametrize(
    ("deprecated_on", "retired_on", "fault"),
    [
        ("2026-06-31", "", "DUNWELL_SCENARIOS_DEPRECATED_ON"),
        ("20260601", "", "DUNWELL_SCENARIOS_DEPRECATED_ON"),
        ("2026-06-02", "2026-06-01", "DUNWELL_SCENARIOS_RETIRED_ON"),
        ("", "2026-06-01", "DUNWELL_SCENARIOS_RETIRED_ON"),
    ],
)
def test_retirement_dates_that_are_invalid_or_out_of_order_are_faults(
    deprecated_on: str, retired_on: str, fault: str
) -> None:
    days = {
        "DUNWELL_SCENARIOS_DEPRECATED_ON": deprecated_on,
        "DUNWELL_SCENARIOS_RETIRED_ON": retired_on,
    }
    assert find_faults({**PRODUCTION, **days}) == [fault]


def test_a_private_authority_is_read_from_its_file(tmp_path: Path) -> None:
    write_certificate(tmp_path, "erp.example")
    written = tmp_path / "certificate.pem"
    settings = load_settings({**PRODUCTION, "DUNWELL_CA_FILE": str(written)})
    assert settings.ca == written.read_text().strip()
    assert "BEGIN" not in str(render_settings(settings, {}))


def test_the_commit_of_the_build_is_hexadecimal() -> None:
    commit = "3bca4f1" * 5
    assert load_settings({**PRODUCTION, "DUNWELL_COMMIT": commit}).commit == commit
    with pytest.raises(InvalidSettings, match="DUNWELL_COMMIT: 'main' is not a commit"):
        load_settings({**PRODUCTION, "DUNWELL_COMMIT": "main"})


@pytest.mark.parametrize("content", ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_without_certificates_is_refused(tmp_path: Path, content: str) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text(content)
    with pytest.raises(InvalidSettings, match="DUNWELL_CA_FILE: it contains no certificate"):
        load_settings({**PRODUCTION, "DUNWELL_CA_FILE": str(wrong)})
