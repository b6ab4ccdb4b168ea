"""The text format of the installation's secret key: its versions, the active one first.

The versions are separated by line breaks or spaces. `2:BASE64` is version 2. BASE64 without a
number is version 1.
"""

import base64
import binascii
import contextlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from dunwell.platform.config.private_folder import create_private_folder

KEY_BYTES = 32
MAX_VERSION = 32_767
FILE_NAME = "secret.key"
_VERSION = re.compile(r"(?:([1-9][0-9]{0,4}):)?(\S+)", re.ASCII)
_HINT = "make one with: openssl rand -base64 32"


class InvalidSecretKey(ValueError):  # noqa: N818 - the suffix Error would add nothing
    """The text is not a valid secret key. The message says what to do."""


def parse_secret_key(text: str, *, must_be_random: bool) -> dict[int, bytes]:
    """Return the keys by their version numbers, the active one first. With `must_be_random`, also
    refuse a key with few different bytes, because it was typed and not generated. Raises
    InvalidSecretKey."""
    keys: dict[int, bytes] = {}
    for word in text.split():
        version, key = _parse_version(word)
        if len(key) < KEY_BYTES or (must_be_random and len(set(key)) < KEY_BYTES // 2):
            raise InvalidSecretKey(
                "needs base64 of at least 32 random bytes, kept as long as the database; " + _HINT
            )
        if version in keys or key in keys.values():
            raise InvalidSecretKey(f"version {version} or its key appears twice; keep one.")
        keys[version] = key
    if not keys:
        raise InvalidSecretKey("needs base64 of at least 32 random bytes; " + _HINT)
    return keys


def render_version(version: int, key: bytes) -> str:
    return f"{version}:{base64.b64encode(key).decode()}"


def generate_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def load_or_create_key_file(path: Path) -> str:
    """Return the text of a key file. Create the file with a first version if it does not exist,
    readable only by its owner. If two processes do this at once, both return the first one's key.
    Raises OSError."""
    if not path.exists():
        create_private_folder(path.parent)
        draft = _write_draft(path, base64.b64encode(generate_key()).decode())
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
        draft.unlink()
    return path.read_text()


def save_versions(path: Path, keys: Mapping[int, bytes]) -> None:
    """Replace all versions in the file atomically. Raises OSError."""
    lines = [f"{render_version(version, key)}\n" for version, key in keys.items()]
    _write_draft(path, "".join(lines)).replace(path)


def _parse_version(word: str) -> tuple[int, bytes]:
    match = _VERSION.fullmatch(word)
    number, text = match.groups() if match else (None, "")
    version = int(number or 1)
    if version > MAX_VERSION:
        raise InvalidSecretKey(f"{number} is not a version of a key; the last is {MAX_VERSION}.")
    try:
        return version, base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return version, b""


def _write_draft(path: Path, text: str) -> Path:
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return draft
