"""The connections to banks in the installation file: where files for a bank are delivered, and
their faults. Pure."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from msgspec import Meta

from dunwell.accounts.installation.delivery_providers import (
    Path,
    ProviderPart,
    SecretFile,
    Server,
    Text,
    list_provider_secret_files,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_pointer

_KEY = "bankConnections"


class BankFolder(ProviderPart, frozen=True, tag_field="adapter", tag="folder"):
    """A folder on the workers' machine, from which the merchant's bank program takes the files."""

    folder: Path


class BankServer(ProviderPart, frozen=True, tag_field="adapter", tag="sftp"):
    """The bank's SFTP server."""

    server: Server
    # The server's host key as in known_hosts: "ssh-ed25519 AAAA...". Connections to another key are
    # refused.
    host_key: Annotated[str, Meta(min_length=20, max_length=2_000)]
    user: Text
    # Exactly one of the two is required.
    key_file: SecretFile | None = None
    password_file: SecretFile | None = None
    # The folder is on the server.
    folder: Path = "."


BankConnection = BankFolder | BankServer


def list_bank_secret_files(connections: Mapping[str, BankConnection]) -> dict[str, str]:
    """Return the path of each secret file, by the name under which its secret is stored, such as
    "bankConnections/sparkasse/keyFile"."""
    return list_provider_secret_files(connections, _KEY)


def find_bank_secret(secrets: Mapping[str, bytes], connection: str, key: str) -> bytes | None:
    """Return the secret of a connection. `key` is the key in the installation file, such as
    "keyFile"."""
    return secrets.get(f"{_KEY}/{connection}/{key}")


def find_bank_connection_faults(connections: Mapping[str, BankConnection]) -> Iterator[Fault]:
    """Yield the faults other than wrong keys and types, with pointers into the file."""
    for name, connection in connections.items():
        if isinstance(connection, BankServer) and (connection.key_file is None) == (
            connection.password_file is None
        ):
            message = 'Give "keyFile" or "passwordFile", and not both.'
            yield Fault(render_pointer([_KEY, name, "keyFile"]), message, "REQUIRED")
