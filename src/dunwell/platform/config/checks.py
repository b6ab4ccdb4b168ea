"""What is wrong with settings that can each be read: they do not fit together, or are not safe for
their profile. Pure."""

import ipaddress
from urllib.parse import SplitResult, parse_qs, urlsplit

from dunwell.platform.config.database_address import TRANSACTION, read_address
from dunwell.platform.config.settings import Settings


def find_faults(settings: Settings) -> list[str]:
    """One line each, saying what to do."""
    return [
        *_find_unusable_addresses(settings),
        *_find_unsafe(settings),
        *_find_disordered_dates(settings),
        *_find_useless_archive(settings),
    ]


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
    elif set(read_address(settings.database_url or "").poolers) - {TRANSACTION}:
        faults.append(
            "DUNWELL_DATABASE_URL: pooler=transaction is the only pooler there is to name; for "
            "one that keeps a session together name none."
        )
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


def _find_useless_archive(settings: Settings) -> list[str]:
    if settings.archive_dir is None:
        return []
    if settings.database_url is not None:
        return ["DUNWELL_ARCHIVE_DIR: is for the embedded database; yours archives by itself."]
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
    """What the database's address says of TLS; none for a server on this machine that is asked for
    none."""
    modes = parse_qs(_split(url or "").query).get("sslmode", [])
    if modes:
        return modes[-1]
    return None if url is None or _names_local_server(url) else "prefer"


def _asks_for_tls(url: str) -> bool:
    return find_ssl_mode(url) in ("require", "verify-ca", "verify-full")


def _split(url: str) -> SplitResult:
    """The parts of an address; of one that is none, empty parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
