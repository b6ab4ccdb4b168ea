"""Every setting of an installation, read once into one frozen value.

All faults are reported together. A setting NAME may come from the file named by NAME_FILE, so that
secrets stay out of the environment.
"""

import base64
import binascii
import contextlib
import difflib
import ipaddress
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

import phonenumbers

_PREFIX = "DUNWELL_"
_SECRET_KEY_BYTES = 32
_PHONE = re.compile(r"\+[0-9][0-9 ()/.-]*")


class SettingsFaulty(Exception):  # noqa: N818 - reads as what is wrong
    """One or more settings cannot be used; one line each, saying what to do."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    profile: str
    # None: the embedded PostgreSQL under data_dir.
    database_url: str | None = field(repr=False, metadata={"secret": True})
    secret_key: bytes = field(repr=False, metadata={"secret": True})
    host: str
    port: int
    # The origin people and programs reach us at, no slash at the end.
    public_url: str
    # Where uploaded files are kept: a file:// or s3:// address.
    files_url: str
    # The folder of PostgreSQL's programs; None: the installed package's.
    pg_bin: str | None
    log_level: str
    # When the scenario endpoints became, or become, deprecated, and when they are retired: told in
    # their answers. None: not announced.
    scenarios_deprecated_on: date | None = None
    scenarios_retired_on: date | None = None
    # Who reads a debtor's page that knows of no creditor can call there. None: nobody is named.
    contact_phone: str | None = None

    @property
    def is_development(self) -> bool:
        return self.profile == "development"


def load_settings(environment: Mapping[str, str] = os.environ, **overrides: str | None) -> Settings:
    """Read settings; `overrides` (command-line flags) win. Raises SettingsFaulty: all faults."""
    reader = _Reader(environment, overrides)
    data_dir = Path(reader.text("DATA_DIR", "./var")).expanduser().resolve()
    profile = reader.choice("PROFILE", ("development", "production"), "development")
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
    )
    faults = [
        *reader.faults,
        *_find_unknown(environment),
        *_find_unusable_addresses(settings),
        *_find_unsafe(settings),
        *_find_disordered_dates(settings),
    ]
    if faults:
        raise SettingsFaulty(faults)
    return settings


def render_settings(settings: Settings) -> dict[str, str]:
    """The effective settings by their variable names, secrets shown as set or not set only."""
    shown: dict[str, str] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        text = "" if value is None else str(value)
        if each.metadata.get("secret"):
            text = "(set)" if value else ""
        shown[_PREFIX + each.name.upper()] = text
    return shown


def _find_unsafe(settings: Settings) -> list[str]:
    if settings.is_development:
        return _find_unsafe_for_development(settings)
    faults = []
    if settings.database_url is None:
        faults.append("DUNWELL_DATABASE_URL: production needs a PostgreSQL of its own; set it.")
    elif not _names_local_server(settings.database_url) and not _asks_for_tls(
        settings.database_url
    ):
        faults.append(
            "DUNWELL_DATABASE_URL: production speaks TLS to a database on another host; "
            "add ?sslmode=verify-full, or sslmode=require where its certificate cannot be checked."
        )
    if _split(settings.public_url).scheme != "https":
        faults.append("DUNWELL_PUBLIC_URL: production needs an https:// origin; set it.")
    return faults


def _find_unsafe_for_development(settings: Settings) -> list[str]:
    faults = []
    if not _is_loopback(settings.host):
        faults.append(
            "DUNWELL_HOST: the development profile serves loopback only; "
            "set DUNWELL_PROFILE=production, or use 127.0.0.1."
        )
    if settings.database_url is not None and not _names_local_server(settings.database_url):
        faults.append(
            "DUNWELL_DATABASE_URL: the development profile uses the embedded database or one "
            "on this machine; set DUNWELL_PROFILE=production for another."
        )
    return faults


def _find_unusable_addresses(settings: Settings) -> list[str]:
    faults = []
    database = _split(settings.database_url or "postgresql:")
    if database.scheme not in ("postgresql", "postgres"):
        faults.append("DUNWELL_DATABASE_URL: needs postgresql://user:password@host:port/database.")
    public = _split(settings.public_url)
    is_origin = public.scheme in ("http", "https") and public.hostname
    if not is_origin or public.path or public.query or public.fragment or public.username:
        faults.append(
            f"DUNWELL_PUBLIC_URL: {settings.public_url!r} is no origin; "
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
        "DUNWELL_SCENARIOS_RETIRED_ON: clients are told of the deprecation first; set "
        "DUNWELL_SCENARIOS_DEPRECATED_ON to the same or an earlier day."
    )
    return [message]


def _find_unknown(environment: Mapping[str, str]) -> list[str]:
    """Variables of ours that no setting reads: a misspelt one must not pass in silence."""
    known = [_PREFIX + each.name.upper() for each in fields(Settings)]
    faults = []
    for name in sorted(environment):
        if not name.startswith(_PREFIX) or name.removesuffix("_FILE") in known:
            continue
        near = difflib.get_close_matches(name.removesuffix("_FILE"), known, n=1)
        hint = f"did you mean {near[0]}?" if near else "remove it."
        faults.append(f"{name}: there is no such setting; {hint}")
    return faults


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


def _asks_for_tls(url: str) -> bool:
    modes = parse_qs(_split(url).query).get("sslmode", [])
    return bool(modes) and modes[-1] in ("require", "verify-ca", "verify-full")


def _split(url: str) -> SplitResult:
    """The parts of an address; of one that is none, empty parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_international(number: str) -> bool:
    if not _PHONE.fullmatch(number):
        return False
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


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
        value = self._environment.get(_PREFIX + name)
        path = self._environment.get(f"{_PREFIX}{name}_FILE")
        if value and path:
            self.faults.append(f"{_PREFIX}{name} and {_PREFIX}{name}_FILE are both set; keep one.")
        if path:
            return self._read_file(name, path)
        return value or None

    def _read_file(self, name: str, path: str) -> str | None:
        try:
            return Path(path).read_text().strip() or None
        except (OSError, UnicodeDecodeError) as error:
            self.faults.append(f"{_PREFIX}{name}_FILE: {path} cannot be read ({error}).")
            return None

    def text(self, name: str, default: str) -> str:
        return self.optional(name) or default

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value not in allowed:
            self.faults.append(f"{_PREFIX}{name}: {value!r} is none of {', '.join(allowed)}.")
            return default
        return value

    def port(self, name: str, default: int) -> int:
        value = self.text(name, str(default))
        if not value.isdecimal() or not 0 < int(value) < 65536:
            self.faults.append(f"{_PREFIX}{name}: {value!r} is no port; use 1 to 65535.")
            return default
        return int(value)

    def day(self, name: str) -> date | None:
        value = self.optional(name)
        if value is None:
            return None
        with contextlib.suppress(ValueError):
            day = date.fromisoformat(value)
            if day.isoformat() == value:
                return day
        self.faults.append(f"{_PREFIX}{name}: {value!r} is no day; write YYYY-MM-DD.")
        return None

    def phone(self, name: str) -> str | None:
        value = self.optional(name)
        if value is None or _is_international(value):
            return value
        self.faults.append(
            f"{_PREFIX}{name}: {value!r} is no phone number with its country; write it like "
            "+49 40 1234560."
        )
        return None

    def secret_key(self, profile: str, data_dir: Path) -> bytes:
        value = self.optional("SECRET_KEY")
        if value is None and profile == "development":
            value = self._generated_secret_key(data_dir / "secret.key")
            if value is None:
                return b""
        try:
            key = base64.b64decode(value or "", validate=True)
        except (binascii.Error, ValueError):
            key = b""
        # A key of few different bytes was typed, not drawn.
        is_typed = profile == "production" and len(set(key)) < _SECRET_KEY_BYTES // 2
        if len(key) < _SECRET_KEY_BYTES or is_typed:
            self.faults.append(
                "DUNWELL_SECRET_KEY: needs base64 of at least 32 random bytes, kept as long as "
                "the database; make one with: openssl rand -base64 32"
            )
        return key

    def _generated_secret_key(self, path: Path) -> str | None:
        """The development profile's key, made once under the data folder."""
        try:
            if not path.exists():
                _generate_secret_key(path)
            return path.read_text().strip()
        except OSError as error:
            self.faults.append(f"DUNWELL_DATA_DIR: {path} cannot be kept there ({error.strerror}).")
            return None


def _generate_secret_key(path: Path) -> None:
    """Readable by its owner only; of two processes that start at once the first one's stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64encode(secrets.token_bytes(_SECRET_KEY_BYTES)))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
