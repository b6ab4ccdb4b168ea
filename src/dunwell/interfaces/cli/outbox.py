"""`dunwell outbox`: read messages in the outbox. In production they are sealed."""

import sys
from pathlib import Path
from uuid import UUID

import click

from dunwell.adapters.channels.outbox.folder import load_message_files
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from dunwell.platform.errors import InvalidRequest, NotFound

_PRINTED_SUFFIXES = (".eml", ".json")


@click.group("outbox", no_args_is_help=False)
def command() -> None:
    """Read messages in the outbox."""


@command.command("show")
@data_dir_option
@click.argument("reference", type=click.UUID)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all files of the message to this folder, decrypted.",
)
def show(data_dir: str | None, reference: UUID, into: Path | None) -> None:
    """Print the message REFERENCE as it was written, and list its other files.

    The message contains personal data and working links: anyone who reads it can open the claim.
    """
    settings = read_settings("outbox", data_dir=data_dir)
    try:
        files = load_message_files(settings.data_dir, KeyRing(settings.secret_key), reference)
    except DecryptionFailed:
        raise InvalidRequest(
            f"The message {reference} is sealed with a key that DUNWELL_SECRET_KEY does not have."
        ) from None
    if not files:
        raise NotFound(f"There is no message {reference} in the outbox of {settings.data_dir}.")
    if into is not None:
        into.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (into / name).write_bytes(content)
            click.echo(into / name)
        return
    for name, content in files.items():
        if name.endswith(_PRINTED_SUFFIXES):
            sys.stdout.buffer.write(content.rstrip(b"\n") + b"\n")
        else:
            click.echo(f"{name}: {len(content):,} bytes; --into FOLDER writes it", err=True)
