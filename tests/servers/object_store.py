"""An S3 server for tests (s3rver from npm) on a loopback port, with one empty bucket."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.debian import find_port, wait_for
from tests.support.certificates import write_authority
from tests.support.tools import find_tool, skip_or_fail

# The host name in its certificate. A bucket's name may also be put in front of it.
_PARENT = "storage.internal"
HOST = f"s3.{_PARENT}"
# The only user that s3rver knows, and its secret, which s3rver does not check.
ACCESS_KEY = "S3RVER"
_PROGRAM = (
    Path(__file__).parents[2] / "var" / "object-store" / "node_modules" / "s3rver/bin/s3rver.js"
)


@dataclass(frozen=True)
class ObjectStore:
    folder: Path
    bucket: str
    port: int
    # The certificate of the authority that signed its certificate, if it uses TLS.
    authority: Path | None = None

    def read_log(self) -> str:
        return (self.folder / "log").read_text()

    def list_keys(self) -> list[str]:
        """Return the keys of the objects in the bucket."""
        kept = self.folder / "buckets" / self.bucket
        suffix = "._S3rver_object"
        found = (str(path.relative_to(kept)) for path in kept.rglob(f"*{suffix}"))
        return sorted(each.removesuffix(suffix) for each in found)


@contextmanager
def run_object_store(folder: Path, bucket: str, *, tls: bool = False) -> Iterator[ObjectStore]:
    folder.mkdir()
    if not _PROGRAM.exists():
        skip_or_fail("the S3 server is not installed; run: make servers")
    port = find_port()
    command = [
        find_tool("node"), str(_PROGRAM), "--directory", str(folder / "buckets"),
        "--address", "127.0.0.1", "--port", str(port), "--service-endpoint", _PARENT,
    ]  # fmt: skip
    authority = None
    if tls:
        authority = write_authority(folder, HOST, f"{bucket}.{HOST}")
        certificate = folder / "certificate.pem"
        command += ["--key", str(folder / "key.pem"), "--cert", str(certificate)]
    command += ["--configure-bucket", bucket]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        wait_for(port, process, log)
        yield ObjectStore(folder, bucket, port, authority)
    finally:
        process.terminate()
        process.wait()
