"""Backups that a test changes, with a manifest that matches the change."""

import gzip
import json
from hashlib import sha256
from pathlib import Path

CLAIMS = "database/claims.copy.gz"


def read_claims(backup: Path) -> bytes:
    """Return the rows of the claims in COPY format."""
    return gzip.decompress((backup / CLAIMS).read_bytes())


def forge_claims(backup: Path, content: bytes, *, rows: int) -> None:
    """Replace the rows of the claims. The manifest describes the new file but keeps the digest of
    the rows in the database."""
    (backup / CLAIMS).write_bytes(gzip.compress(content))
    manifest = json.loads((backup / "manifest.json").read_text())
    manifest["tables"]["claims"]["rows"] = rows
    packed = (backup / CLAIMS).read_bytes()
    for each in manifest["files"]:
        if each["path"] == CLAIMS:
            each |= {"size": len(packed), "sha256": sha256(packed).hexdigest()}
    (backup / "manifest.json").write_text(json.dumps(manifest))
