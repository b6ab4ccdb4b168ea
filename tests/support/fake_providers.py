"""Fake payment providers in processes of their own (`tests.fakes`), and what tests make them do."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

_ROOT = Path(__file__).parents[2]
WEBHOOK_SECRET = "whsec_5f3d0a7c"


class FakeProviderProcess:
    """A running fake. `origin` is its address, which stays the same when it is restarted."""

    def __init__(self, name: str, state: Path | None = None) -> None:
        self.name = name
        self._state = state
        self.origin = ""
        self._process: subprocess.Popen[str] | None = None
        self._client = httpx.Client(timeout=10, trust_env=False, verify=False)

    def start(self) -> None:
        port = self.origin.rpartition(":")[2] or "0"
        command = [
            sys.executable, "-m", f"tests.fakes.{self.name}",
            "--port", port, "--secret", WEBHOOK_SECRET,
        ]  # fmt: skip
        if self._state is not None:
            command += ["--state", str(self._state)]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.origin = self._process.stdout.readline().strip()
        assert self.origin, "the fake provider did not start"

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def close(self) -> None:
        self._client.close()
        self.kill()

    def call(self, what: str, **given: Any) -> Any:
        answer = self._client.post(f"{self.origin}/_fake/{what}", json=given, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Post a notification to any address. Return the status."""
        return self._client.post(url, headers=dict(headers), content=body, timeout=10).status_code

    def act(self, object_id: str, action: str, **details: Any) -> Any:
        """Let something happen to a checkout or another object. Return the object."""
        return self.call("act", id=object_id, action=action, **details)

    def break_answers(self, mode: str, times: int | None = None, seconds: float = 0.0) -> None:
        """Switch on a fault of the API (`tests.fakes.process.Fault`)."""
        self.call("fault", mode=mode, times=times, seconds=seconds)

    def repair(self) -> None:
        self.call("fault")
        self.call("permissions", missing=[])
        self.call("notifications")

    def take_requests(self) -> list[dict[str, Any]]:
        """Return the requests to the API since the last call."""
        requests: list[dict[str, Any]] = self.call("requests")
        return requests

    def count_money(self) -> Mapping[str, int]:
        """Return what the merchant has of each checkout, in cents."""
        money: Mapping[str, int] = self.call("money")
        return money

    def list_rows(self, kind: str) -> list[dict[str, Any]]:
        """Return all objects of a kind, such as "payments", as the fake stores them."""
        rows: list[dict[str, Any]] = self.call(f"rows/{kind}")
        return rows

    def build_notification(self, object_id: str) -> tuple[dict[str, str], bytes]:
        """Return headers, with names in lower case, and body of a notification."""
        found = self.call("notification", id=object_id)
        headers = {name.lower(): value for name, value in found["headers"].items()}
        return headers, found["body"].encode()


@contextmanager
def a_fake(name: str, state: Path | None = None) -> Iterator[FakeProviderProcess]:
    """Run a fake provider until the block ends: stripe, mollie or gocardless."""
    fake = FakeProviderProcess(name, state)
    fake.start()
    try:
        yield fake
    finally:
        fake.close()
