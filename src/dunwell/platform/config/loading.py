"""Read the settings from the environment and check that they fit together. All faults are reported
together."""

import contextlib
import difflib
import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

import phonenumbers

from dunwell.platform.config.secret_key import (
    FILE_NAME,
    InvalidSecretKey,
    load_or_create_key_file,
    parse_secret_key,
)
from dunwell.platform.config.settings import (
    PREFIX,
    TRANSACTION_POOLER,
    Bind,
    InvalidSettings,
    Settings,
    parse_database_address,
)


def find_faults(settings: Settings) -> list[str]:
    """Return one line for each fault, which says what to do."""
    return [
        *_find_unusable_addresses(settings),
        *_find_unsafe_settings(settings),
        *_find_disordered_dates(settings),
        *_find_useless_archive(settings),
    ]


def _find_unsafe_settings(settings: Settings) -> list[str]:
    if settings.is_development:
        return _find_settings_unsafe_for_development(settings)
    faults = []
    if settings.database_url is None:
        faults.append("DUNWELL_DATABASE_URL: production needs its own PostgreSQL; set it.")
    elif not _names_local_server(settings.database_url) and not _asks_for_tls(
        settings.database_url
    ):
        faults.append(
            "DUNWELL_DATABASE_URL: production requires TLS to a database on another host; "
            "add ?sslmode=verify-full, or sslmode=require where its certificate cannot be checked."
        )
    if _split(settings.public_url).scheme != "https":
        faults.append("DUNWELL_PUBLIC_URL: production needs an https:// origin; set it.")
    return faults


def _find_settings_unsafe_for_development(settings: Settings) -> list[str]:
    faults = []
    if not _is_loopback(settings.host):
        faults.append(
            "DUNWELL_HOST: the development profile serves loopback only; "
            "set DUNWELL_PROFILE=production, or use 127.0.0.1."
        )
    if settings.operator_bind is not None and not _is_loopback(settings.operator_bind.host):
        faults.append(
            "DUNWELL_OPERATOR_BIND: the development profile serves loopback only; use 127.0.0.1."
        )
    if settings.database_url is not None and not _names_local_server(settings.database_url):
        faults.append(
            "DUNWELL_DATABASE_URL: the development profile uses the embedded database or one "
            "on this machine; set DUNWELL_PROFILE=production for another."
        )
    return faults


def _find_unusable_addresses(settings: Settings) -> list[str]:
    faults = []
    operators = settings.operator_bind
    if operators is not None and (operators.host, operators.port) == (settings.host, settings.port):
        faults.append(
            "DUNWELL_OPERATOR_BIND: the API and the debtors' pages are there; use another port."
        )
    database = _split(settings.database_url or "postgresql:")
    if database.scheme not in ("postgresql", "postgres"):
        faults.append("DUNWELL_DATABASE_URL: needs postgresql://user:password@host:port/database.")
    elif set(parse_database_address(settings.database_url or "").poolers) - {TRANSACTION_POOLER}:
        faults.append(
            "DUNWELL_DATABASE_URL: the only pooler to name is pooler=transaction; leave the "
            "parameter out for one that keeps sessions."
        )
    public = _split(settings.public_url)
    is_origin = public.scheme in ("http", "https") and public.hostname
    if not is_origin or public.path or public.query or public.fragment or public.username:
        faults.append(
            f"DUNWELL_PUBLIC_URL: {settings.public_url!r} is not an origin; "
            "write https://host or https://host:port."
        )
    if _split(settings.files_url).scheme not in ("file", "s3"):
        faults.append("DUNWELL_FILES_URL: needs a file:///folder or an s3://bucket/prefix address.")
    return faults


def _find_disordered_dates(settings: Settings) -> list[str]:
    deprecated_on, retired_on = settings.scenarios_deprecated_on, settings.scenarios_retired_on
    if retired_on is None or (deprecated_on is not None and deprecated_on <= retired_on):
        return []
    message = (
        "DUNWELL_SCENARIOS_RETIRED_ON: the deprecation must be announced first; set "
        "DUNWELL_SCENARIOS_DEPRECATED_ON to the same or an earlier day."
    )
    return [message]


def _find_useless_archive(settings: Settings) -> list[str]:
    if settings.archive_dir is None:
        return []
    if settings.database_url is not None:
        return ["DUNWELL_ARCHIVE_DIR: is only for the embedded database; use your server's tools."]
    if settings.archive_dir.is_relative_to(settings.data_dir):
        return ["DUNWELL_ARCHIVE_DIR: would be lost with the data folder; use another disk."]
    return []


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _names_local_server(url: str) -> bool:
    host = _split(url).hostname
    if host is None:
        hosts = parse_qs(_split(url).query).get("host", [])
        return all(each.startswith("/") or _is_loopback(each) for each in hosts)
    return _is_loopback(host)


def find_ssl_mode(url: str | None) -> str | None:
    """Return the TLS mode in the database's address. If it names none, return None for a server on
    this machine and `prefer` for any other."""
    modes = parse_qs(_split(url or "").query).get("sslmode", [])
    if modes:
        return modes[-1]
    return None if url is None or _names_local_server(url) else "prefer"


def _asks_for_tls(url: str) -> bool:
    return find_ssl_mode(url) in ("require", "verify-ca", "verify-full")


def _split(url: str) -> SplitResult:
    """Return the parts of an address, all of them empty if it cannot be parsed."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


_BIND = re.compile(r"([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})", re.ASCII)
# 1 PiB. A larger value is a typing error.
_MAX_MIB = 1024**3
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_PHONE = re.compile(r"\+[0-9][0-9 ()/.-]*")


def load_settings(environment: Mapping[str, str] = os.environ, **overrides: str | None) -> Settings:
    """Return the settings. `overrides` are command-line flags and take precedence. Raises
    InvalidSettings with all faults."""
    reader = _Reader(environment, overrides)
    profile = reader.choice("PROFILE", ("development", "production"), "development")
    default_data_dir = "/var/lib/dunwell" if profile == "production" else "./var"
    data_dir = Path(reader.text("DATA_DIR", default_data_dir)).expanduser().resolve()
    host = reader.text("HOST", "127.0.0.1")
    port = reader.port("PORT", 8000)
    settings = Settings(
        data_dir=data_dir,
        profile=profile,
        database_url=reader.optional("DATABASE_URL"),
        secret_key=reader.secret_key(profile, data_dir),
        host=host,
        port=port,
        public_url=reader.text("PUBLIC_URL", f"http://{_render_host(host)}:{port}").rstrip("/"),
        files_url=reader.text("FILES_URL", (data_dir / "files").as_uri()),
        pg_bin=reader.optional("PG_BIN"),
        log_level=reader.choice("LOG_LEVEL", ("debug", "info", "warning", "error"), "info"),
        scenarios_deprecated_on=reader.day("SCENARIOS_DEPRECATED_ON"),
        scenarios_retired_on=reader.day("SCENARIOS_RETIRED_ON"),
        contact_phone=reader.phone("CONTACT_PHONE"),
        operator_bind=reader.bind("OPERATOR_BIND"),
        archive_dir=reader.folder("ARCHIVE_DIR"),
        fonts=reader.folders("FONTS"),
        merchant_storage_mib=reader.size("MERCHANT_STORAGE_MIB", 10 * 1024),
        ca=reader.certificates("CA"),
        commit=reader.commit("COMMIT"),
    )
    faults = [
        *reader.faults,
        *_find_unknown_variables(environment),
        *find_faults(settings),
    ]
    if faults:
        raise InvalidSettings(faults)
    return settings


def _find_unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return one line for each DUNWELL_ variable that no setting reads: usually it is misspelt."""
    known = [PREFIX + each.name.upper() for each in fields(Settings)]
    faults = []
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name.removesuffix("_FILE") in known:
            continue
        near = difflib.get_close_matches(name.removesuffix("_FILE"), known, n=1)
        hint = f"did you mean {near[0]}?" if near else "remove it."
        faults.append(f"{name}: there is no such setting; {hint}")
    return faults


class _Reader:
    """Reads variables and collects their faults."""

    def __init__(self, environment: Mapping[str, str], overrides: Mapping[str, str | None]) -> None:
        self._environment = environment
        self._overrides = overrides
        self.faults: list[str] = []

    def optional(self, name: str) -> str | None:
        override = self._overrides.get(name.lower())
        if override is not None:
            return override
        value = self._environment.get(PREFIX + name)
        path = self._environment.get(f"{PREFIX}{name}_FILE")
        if value and path:
            self.faults.append(f"{PREFIX}{name} and {PREFIX}{name}_FILE are both set; keep one.")
        if path:
            return self._read_file(name, path)
        return value or None

    def _read_file(self, name: str, path: str) -> str | None:
        try:
            return Path(path).read_text().strip() or None
        except (OSError, UnicodeDecodeError) as error:
            self.faults.append(f"{PREFIX}{name}_FILE: {path} cannot be read ({error}).")
            return None

    def text(self, name: str, default: str) -> str:
        return self.optional(name) or default

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value not in allowed:
            self.faults.append(f"{PREFIX}{name}: {value!r} is not one of {', '.join(allowed)}.")
            return default
        return value

    def port(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if not value.isdecimal() or not 0 < int(value) < 65536:
            self.faults.append(f"{PREFIX}{name}: {value!r} is not a port; use 1 to 65535.")
            return default
        return int(value)

    def size(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        is_number = value.isascii() and value.isdecimal() and len(value) <= 10
        if not is_number or not 0 < int(value) <= _MAX_MIB:
            self.faults.append(
                f"{PREFIX}{name}: {value[:40]!r} is not a size; write a whole number of MiB from 1 "
                f"to {_MAX_MIB}, such as 10240 for 10 GiB."
            )
            return default
        return int(value)

    def bind(self, name: str) -> Bind | None:
        value = self.optional(name)
        if value is None:
            return None
        match = _BIND.fullmatch(value)
        if match and 0 < int(match[2]) < 65536:
            return Bind(match[1].strip("[]"), int(match[2]))
        self.faults.append(
            f"{PREFIX}{name}: {value!r} is not an address to listen on; write it like "
            "127.0.0.1:9100."
        )
        return None

    def day(self, name: str) -> date | None:
        value = self.optional(name)
        if value is None:
            return None
        with contextlib.suppress(ValueError):
            day = date.fromisoformat(value)
            if day.isoformat() == value:
                return day
        self.faults.append(f"{PREFIX}{name}: {value!r} is not a day; write YYYY-MM-DD.")
        return None

    def commit(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None or _COMMIT.fullmatch(value):
            return value
        self.faults.append(
            f"{PREFIX}{name}: {value[:80]!r} is not a commit; write its 7 to 64 hexadecimal digits "
            "as git rev-parse HEAD prints them."
        )
        return None

    def folder(self, name: str) -> Path | None:
        value = self.optional(name)
        return None if value is None else Path(value).expanduser().resolve()

    def folders(self, name: str) -> tuple[Path, ...]:
        """Return the folders of a setting that separates them like PATH."""
        parts = (self.optional(name) or "").split(os.pathsep)
        return tuple(Path(each).expanduser().resolve() for each in parts if each)

    def certificates(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None:
            return None
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=value)
        except (ssl.SSLError, ValueError):
            self.faults.append(
                f"{PREFIX}{name}_FILE: it contains no certificate; name a file in PEM that begins "
                "with -----BEGIN CERTIFICATE-----."
            )
            return None
        return value

    def phone(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None or _is_international(value):
            return value
        self.faults.append(
            f"{PREFIX}{name}: {value!r} is not a phone number with a country code; write it like "
            "+49 40 1234560."
        )
        return None

    def secret_key(self, profile: str, data_dir: Path) -> Mapping[int, bytes]:
        value = self.optional("SECRET_KEY")
        path = data_dir / FILE_NAME
        try:
            if value is None and profile == "development":
                value = load_or_create_key_file(path)
            return parse_secret_key(value or "", must_be_random=profile == "production")
        except InvalidSecretKey as fault:
            self.faults.append(f"DUNWELL_SECRET_KEY: {fault}")
        except OSError as error:
            self.faults.append(
                f"DUNWELL_DATA_DIR: {path} cannot be created or read ({error.strerror})."
            )
        return {}


def _is_international(number: str) -> bool:
    if not _PHONE.fullmatch(number):
        return False
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def _render_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
