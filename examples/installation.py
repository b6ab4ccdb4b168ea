"""The demo's installation: it is started here, and the merchant's file is applied to it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from examples.progress import DemoFailed, print_line

EXAMPLES = Path(__file__).parent
# The key in demo-merchant.yaml.
MERCHANT = "teekontor-demo"
_PORTS_TRIED = 50
_SECRETS = ("clientId", "clientSecret", "webhook")


@dataclass(frozen=True)
class DemoInstallation:
    data_dir: Path
    port: int
    # The port at which the merchant's receiver expects webhooks.
    receiver_port: int = 8099

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def dunwell(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "dunwell", *words]

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "DUNWELL_DATA_DIR": str(self.data_dir), "DUNWELL_PUBLIC_URL": self.origin,
            "DUNWELL_CONTACT_PHONE": "+49 30 23125 010",
        }  # fmt: skip
        return os.environ | own


@dataclass(frozen=True)
class Access:
    """The merchant's id and the secrets that Dunwell printed when it was created."""

    merchant_id: int
    client_id: str
    client_secret: str
    webhook_secret: str


def start_dunwell(installation: DemoInstallation) -> "subprocess.Popen[str]":
    """Start `dunwell up` and wait until it reports that it is ready."""
    server = subprocess.Popen(
        installation.dunwell("up", "--port", str(installation.port)),
        env=installation.environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line.startswith("ready "):
        server.wait(timeout=60)
        raise SystemExit("Dunwell did not start; see the lines above.")
    print_line(f"Dunwell is {line.strip()}, data in {installation.data_dir}")
    return server


def stop_dunwell(server: "subprocess.Popen[str]") -> None:
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=60)


def find_free_port(wanted: int) -> int:
    """Return the wanted port or the next free one, and print a line if they differ."""
    last = wanted + _PORTS_TRIED - 1
    for port in range(wanted, last + 1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port != wanted:
                print_line(f"Port {wanted} is in use; {port} is used instead.")
            return port
    raise SystemExit(f"Ports {wanted} to {last} are in use. Choose another: make demo PORT=9000")


def _copy_merchant_files(installation: DemoInstallation) -> Path:
    """Copy the merchant's file and the files that it names, with the port of the receiver."""
    folder = installation.data_dir / "merchant"
    folder.mkdir(parents=True, exist_ok=True)
    for each in (*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.svg")):
        content = each.read_text().replace(":8099/", f":{installation.receiver_port}/")
        (folder / each.name).write_text(content)
    return folder / "demo-merchant.yaml"


def apply_merchant(installation: DemoInstallation) -> Access:
    """Apply the merchant's file. Its secrets are shown only once and are kept for the next demo."""
    path = str(_copy_merchant_files(installation))
    command = installation.dunwell("apply", path, "--publish", "--json")
    done = subprocess.run(
        command, env=installation.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DemoFailed(f"the merchant file was not applied: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    secrets = installation.data_dir / "demo-secrets.json"
    kept = json.loads(secrets.read_text()) if secrets.exists() else {}
    for credential in report["credentials"]:
        kept |= {"clientId": credential["clientId"], "clientSecret": credential["clientSecret"]}
    for webhook in report["webhooks"]:
        kept["webhook"] = webhook["secret"]
    if not set(_SECRETS) <= kept.keys():
        raise DemoFailed(
            f"{secrets} is missing and the secrets are shown only once: "
            f"delete {installation.data_dir} and start again"
        )
    secrets.touch(mode=0o600)
    secrets.write_text(json.dumps(kept))
    count = len(report["changes"])
    print_line(f"Merchant {report['key']} applied: {count} change{'' if count == 1 else 's'}")
    return Access(report["merchantId"], *(kept[name] for name in _SECRETS))
