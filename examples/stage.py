"""Where the demo plays: a Dunwell of its own, started here, and the merchant applied to it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from examples.story import StoryBroken, say

EXAMPLES = Path(__file__).parent
_PORTS_TRIED = 50
_SECRETS = ("clientId", "clientSecret", "webhook")


@dataclass(frozen=True)
class Stage:
    data_dir: Path
    port: int
    # Where the merchant's receiver listens for webhooks.
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
    """What the merchant was given when it was created."""

    merchant_id: int
    client_id: str
    client_secret: str
    webhook_secret: str


def start_dunwell(stage: Stage) -> "subprocess.Popen[str]":
    """`dunwell up`, waited for until it says it is ready."""
    server = subprocess.Popen(
        stage.dunwell("up", "--port", str(stage.port)),
        env=stage.environment, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line.startswith("ready "):
        server.wait(timeout=60)
        raise SystemExit("Dunwell did not start; see the lines above.")
    say(f"Dunwell is {line.strip()}, data in {stage.data_dir}")
    return server


def stop_dunwell(server: "subprocess.Popen[str]") -> None:
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=60)


def find_free_port(wanted: int) -> int:
    """This one, or the next that nobody listens on; says so when it is another."""
    last = wanted + _PORTS_TRIED - 1
    for port in range(wanted, last + 1):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port != wanted:
                say(f"Port {wanted} is in use; {port} is taken instead.")
            return port
    raise SystemExit(f"Ports {wanted} to {last} are in use. Choose another: make demo PORT=9000")


def _place_merchant(stage: Stage) -> Path:
    """The merchant's file, with what it names beside it, told where its receiver listens."""
    folder = stage.data_dir / "merchant"
    folder.mkdir(parents=True, exist_ok=True)
    for each in (*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.svg")):
        content = each.read_text().replace(":8099/", f":{stage.receiver_port}/")
        (folder / each.name).write_text(content)
    return folder / "demo-merchant.yaml"


def apply_merchant(stage: Stage) -> Access:
    """Apply the merchant's file; secrets are shown once, so they are kept for the next demo."""
    command = stage.dunwell("apply", str(_place_merchant(stage)), "--publish", "--json")
    done = subprocess.run(
        command, env=stage.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StoryBroken(f"the merchant file was not applied: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    path = stage.data_dir / "demo-secrets.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for credential in report["credentials"]:
        kept |= {"clientId": credential["clientId"], "clientSecret": credential["clientSecret"]}
    for webhook in report["webhooks"]:
        kept["webhook"] = webhook["secret"]
    if not set(_SECRETS) <= kept.keys():
        raise StoryBroken(f"{path} is gone, and with it the secrets; delete {stage.data_dir}")
    path.touch(mode=0o600)
    path.write_text(json.dumps(kept))
    count = len(report["changes"])
    say(f"Merchant {report['key']} applied: {count} change{'' if count == 1 else 's'}")
    return Access(report["merchantId"], *(kept[name] for name in _SECRETS))
