"""Reads the settings from the environment. All faults are reported together.

A setting NAME may come from the file named by NAME_FILE, so that secrets stay out of the
environment.
"""

import contextlib
import difflib
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from pathlib import Path

import phonenumbers

from dunwell.platform.config.checks import find_faults
from dunwell.platform.config.secret_key import FILE_NAME, KeyFaulty, load_or_make, read_secret_key
from dunwell.platform.config.settings import PREFIX, Bind, Settings, SettingsFaulty

_BIND = re.compile(r"([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})", re.ASCII)
# 1 PiB: more is a typing error.
_MOST_MIB = 1024**3
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_PHONE = re.compile(r"\+[0-9][0-9 ()/.-]*")


def load_settings(environment: Mapping[str, str] = os.environ, **overrides: str | None) -> Settings:
    """Read settings; `overrides` (command-line flags) win. Raises SettingsFaulty: all faults."""
    reader = _Reader(environment, overrides)
    profile = reader.choice("PROFILE", ("development", "production"), "development")
    usual = "/var/lib/dunwell" if profile == "production" else "./var"
    data_dir = Path(reader.text("DATA_DIR", usual)).expanduser().resolve()
    host = reader.text("HOST", "127.0.0.1")
    port = reader.port("PORT", 8000)
    settings = Settings(
        data_dir=data_dir,
        profile=profile,
        database_url=reader.optional("DATABASE_URL"),
        secret_key=reader.secret_key(profile, data_dir),
        host=host,
        port=port,
        public_url=reader.text("PUBLIC_URL", f"http://{_url_host(host)}:{port}").rstrip("/"),
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
        *_find_unknown(environment),
        *find_faults(settings),
    ]
    if faults:
        raise SettingsFaulty(faults)
    return settings


def _find_unknown(environment: Mapping[str, str]) -> list[str]:
    """Variables of ours that no setting reads: a misspelt one must not pass in silence."""
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
    """Reads variables and collects what is wrong with them."""

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
            self.faults.append(f"{PREFIX}{name}: {value!r} is none of {', '.join(allowed)}.")
            return default
        return value

    def port(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if not value.isdecimal() or not 0 < int(value) < 65536:
            self.faults.append(f"{PREFIX}{name}: {value!r} is no port; use 1 to 65535.")
            return default
        return int(value)

    def size(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        is_number = value.isascii() and value.isdecimal() and len(value) <= 10
        if not is_number or not 0 < int(value) <= _MOST_MIB:
            self.faults.append(
                f"{PREFIX}{name}: {value[:40]!r} is no size; write a whole number of MiB from 1 to "
                f"{_MOST_MIB}, such as 10240 for 10 GiB."
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
            f"{PREFIX}{name}: {value!r} is no address to listen on; write it like 127.0.0.1:9100."
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
        self.faults.append(f"{PREFIX}{name}: {value!r} is no day; write YYYY-MM-DD.")
        return None

    def commit(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None or _COMMIT.fullmatch(value):
            return value
        self.faults.append(
            f"{PREFIX}{name}: {value[:80]!r} is no commit; write its 7 to 64 hexadecimal digits, "
            "as git rev-parse HEAD prints them."
        )
        return None

    def folder(self, name: str) -> Path | None:
        value = self.optional(name)
        return None if value is None else Path(value).expanduser().resolve()

    def folders(self, name: str) -> tuple[Path, ...]:
        """As a path of several: with colons between."""
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
                f"{PREFIX}{name}_FILE: it holds no certificate; name a file in PEM that begins "
                "with -----BEGIN CERTIFICATE-----."
            )
            return None
        return value

    def phone(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None or _is_international(value):
            return value
        self.faults.append(
            f"{PREFIX}{name}: {value!r} is no phone number with its country; write it like "
            "+49 40 1234560."
        )
        return None

    def secret_key(self, profile: str, data_dir: Path) -> Mapping[int, bytes]:
        value = self.optional("SECRET_KEY")
        path = data_dir / FILE_NAME
        try:
            if value is None and profile == "development":
                value = load_or_make(path)
            return read_secret_key(value or "", is_drawn=profile == "production")
        except KeyFaulty as fault:
            self.faults.append(f"DUNWELL_SECRET_KEY: {fault}")
        except OSError as error:
            self.faults.append(f"DUNWELL_DATA_DIR: {path} cannot be kept there ({error.strerror}).")
        return {}


def _is_international(number: str) -> bool:
    if not _PHONE.fullmatch(number):
        return False
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
