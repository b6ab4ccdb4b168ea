"""The settings of an installation, as one value, and the parts of the database's address. Pure."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_POOLER = "pooler"
# The one kind that has to be known: it gives each transaction another of its connections.
TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """`url` is what drivers understand."""

    url: str
    poolers: tuple[str, ...] = ()

    @property
    def is_pooled(self) -> bool:
        return TRANSACTION in self.poolers


def read_address(url: str) -> DatabaseAddress:
    """Takes `pooler` out of the address's options; no other word of it is touched."""
    query = urlsplit(url).query
    options = parse_qsl(query, keep_blank_values=True)
    poolers = tuple(value for name, value in options if name == _POOLER)
    if not poolers:
        return DatabaseAddress(url)
    kept = urlencode([each for each in options if each[0] != _POOLER], quote_via=quote)
    head, _, _ = url.partition("?")
    return DatabaseAddress(f"{head}?{kept}" if kept else head, poolers)


PREFIX = "DUNWELL_"


class SettingsFaulty(Exception):  # noqa: N818 - reads as what is wrong
    """One or more settings cannot be used; one line each, saying what to do."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Bind:
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    profile: str
    # None: the embedded PostgreSQL under data_dir.
    database_url: str | None = field(repr=False, metadata={"secret": True})
    # Its versions by their numbers, the one in use first.
    secret_key: Mapping[int, bytes] = field(repr=False, hash=False, metadata={"secret": True})
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
    # Where this process shows its figures and its health to operators. None: no such address.
    operator_bind: Bind | None = None
    # Where the embedded database is archived to, so that it can go back to any moment.
    archive_dir: Path | None = None
    # Folders of fonts that letters may need beside what comes along.
    fonts: tuple[Path, ...] = ()
    # The most that the uploads of one merchant may take. Not in the merchant's file: it is the
    # operator's disk, and a merchant's own users could raise it there.
    merchant_storage_mib: int = 10 * 1024
    # Certificates, in PEM, of authorities that are trusted beside the public ones, for webhooks
    # into the networks that the installation file names.
    ca: str | None = field(default=None, repr=False, metadata={"secret": True})

    # The commit this build was made of, as whoever built it says. None: not known.
    commit: str | None = None

    @property
    def is_development(self) -> bool:
        return self.profile == "development"

    @property
    def merchant_storage_bytes(self) -> int:
        return self.merchant_storage_mib * 1024 * 1024


# The one setting that production usually reads from a file.
SECRET_KEY_FILE = f"{PREFIX}SECRET_KEY_FILE"


def render_settings(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """The effective settings by their variable names, secrets shown as set or not set only.

    environment: names the file that the secret key was read from, if any.
    """
    shown: dict[str, str] = {}
    for each in fields(settings):
        value = getattr(settings, each.name)
        text = "" if value is None else _render(value)
        if each.metadata.get("secret"):
            text = "(set)" if value else ""
        shown[PREFIX + each.name.upper()] = text
        if each.name == "secret_key":
            shown[SECRET_KEY_FILE] = environment.get(SECRET_KEY_FILE, "")
    return shown


def _render(value: object) -> str:
    return os.pathsep.join(map(str, value)) if isinstance(value, tuple) else str(value)
