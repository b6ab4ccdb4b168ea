"""The settings of an installation as one value, and the parts of the database's address. Pure."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_POOLER = "pooler"
# The only pooler mode that matters here: in transaction mode, each transaction may use another
# server connection.
TRANSACTION_POOLER = "transaction"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of the database without the option `pooler`, which only this program knows, and
    the poolers that the option named."""

    url: str
    poolers: tuple[str, ...] = ()

    @property
    def is_pooled(self) -> bool:
        return TRANSACTION_POOLER in self.poolers


def parse_database_address(url: str) -> DatabaseAddress:
    """Return the address without its option `pooler`, and the values of this option."""
    query = urlsplit(url).query
    options = parse_qsl(query, keep_blank_values=True)
    poolers = tuple(value for name, value in options if name == _POOLER)
    if not poolers:
        return DatabaseAddress(url)
    kept = urlencode([each for each in options if each[0] != _POOLER], quote_via=quote)
    head, _, _ = url.partition("?")
    return DatabaseAddress(f"{head}?{kept}" if kept else head, poolers)


PREFIX = "DUNWELL_"


class InvalidSettings(Exception):  # noqa: N818 - the suffix Error would add nothing
    """One or more settings cannot be used. The message has one line for each fault, which says what
    to do."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Bind:
    """An address to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    profile: str
    # None for the embedded PostgreSQL below data_dir.
    database_url: str | None = field(repr=False, metadata={"secret": True})
    # The keys by their version numbers, the active one first.
    secret_key: Mapping[int, bytes] = field(repr=False, hash=False, metadata={"secret": True})
    host: str
    port: int
    # The origin at which users and programs reach the service, without a slash at the end.
    public_url: str
    # Where uploaded files are stored, as a file:// or s3:// address.
    files_url: str
    # The folder of PostgreSQL's programs, None for those of the installed package.
    pg_bin: str | None
    log_level: str
    # The days on which the scenario endpoints become deprecated and are removed. The responses of
    # these endpoints announce them. None: nothing is announced.
    scenarios_deprecated_on: date | None = None
    scenarios_retired_on: date | None = None
    # The phone number on a debtor's page that cannot name a creditor. None if there is none.
    contact_phone: str | None = None
    # The address at which this process serves metrics and health checks to operators. None: it does
    # not serve them.
    operator_bind: Bind | None = None
    # Where the embedded database is archived for point-in-time recovery.
    archive_dir: Path | None = None
    # Folders of additional fonts for letters.
    fonts: tuple[Path, ...] = ()
    # The storage limit for the uploads of one merchant. It is not in the merchant's configuration,
    # because the disk is the operator's and a merchant's users could raise the limit there.
    merchant_storage_mib: int = 10 * 1024
    # PEM certificates of authorities that are trusted in addition to the public ones, for webhooks
    # into the networks that the installation file names.
    ca: str | None = field(default=None, repr=False, metadata={"secret": True})

    # The commit of this build, which the build process sets. None if unknown.
    commit: str | None = None

    @property
    def is_development(self) -> bool:
        return self.profile == "development"

    @property
    def merchant_storage_bytes(self) -> int:
        return self.merchant_storage_mib * 1024 * 1024


# The setting from which production usually reads the secret key.
SECRET_KEY_FILE = f"{PREFIX}SECRET_KEY_FILE"


def render_settings(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the effective settings by the names of their variables. A secret is shown only as set
    or not set.

    `environment` has the name of the file from which the secret key was read, if any.
    """
    shown: dict[str, str] = {}
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        text = "" if value is None else _render(value)
        if setting.metadata.get("secret"):
            text = "(set)" if value else ""
        shown[PREFIX + setting.name.upper()] = text
        if setting.name == "secret_key":
            shown[SECRET_KEY_FILE] = environment.get(SECRET_KEY_FILE, "")
    return shown


def _render(value: object) -> str:
    return os.pathsep.join(map(str, value)) if isinstance(value, tuple) else str(value)
