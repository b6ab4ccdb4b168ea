"""The files of secrets that an installation file names, read when it is applied."""

from pathlib import Path

from dunwell.accounts.installation.document import Installation, list_secret_files
from dunwell.platform.errors import Fault, ValidationError

_MOST_BYTES = 64_000


def read_secrets(installation_file: Path, installation: Installation) -> dict[str, bytes]:
    """What they hold, by the names of `list_secret_files`, without a line's end behind it. Raises
    ValidationError with all that cannot be read."""
    named = list_secret_files(installation)
    found, faults = {}, []
    for name, path in named.items():
        try:
            content = (installation_file.parent / path).read_bytes()
        except OSError as error:
            words = f"{path} cannot be read ({error.strerror}). It is looked for beside this file."
            faults.append(Fault(f"/{name}", words, "UNREADABLE"))
            continue
        secret = content.rstrip(b"\r\n")
        if not 0 < len(secret) <= _MOST_BYTES:
            words = f"{path} is to hold a secret of 1 to {_MOST_BYTES} bytes."
            faults.append(Fault(f"/{name}", words, "INVALID"))
        found[name] = secret
    if faults:
        raise ValidationError(faults)
    return found
