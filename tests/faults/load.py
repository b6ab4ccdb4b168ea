"""Load on an installation from a client that records what was acknowledged."""

import asyncio
import itertools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx

from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from tests.faults.installation import Installation, plain_environment, wait_until
from tests.support.claims import a_claim

_CLIENTS = 3
_CLAIMS_AT_ONCE = 5
_NO_LIMIT = "UPDATE credentials SET requests_per_minute = 1000000"
_REFERENCES = "SELECT reference_number FROM claims"


@dataclass
class LoadClient:
    """Submits claims, each once and with its own reference."""

    installation: Installation
    merchant_id: int
    token: str
    # The merchant's secrets, which are shown only once.
    printed_secrets: dict[str, str]
    acknowledged: set[str] = field(default_factory=set)
    # The statuses of all responses other than 200.
    refusals: list[int] = field(default_factory=list)
    # Responses that are neither 200 nor an envelope that asks to try again.
    unclean: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Submit claims while the block runs."""
        stop = threading.Event()
        threads = [threading.Thread(target=self._hand_over, args=(stop,)) for _ in range(_CLIENTS)]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            stop.set()
            for each in threads:
                each.join()

    def wait_for_more(self, number: int) -> None:
        wanted = len(self.acknowledged) + number
        wait_until(lambda: len(self.acknowledged) >= wanted, f"{number} more claims are taken")

    def read_stored(self) -> set[str]:
        return {row["reference_number"] for row in execute(self.installation, _REFERENCES)}

    def find_lost(self) -> set[str]:
        return self.acknowledged - self.read_stored()

    def _hand_over(self, stop: threading.Event) -> None:
        url = f"http://127.0.0.1:{self.installation.port}/api/merchants/{self.merchant_id}/claims"
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(headers=headers, timeout=20) as http:
            while not stop.is_set():
                claims = [a_claim(f"L-{next(self._numbers)}") for _ in range(_CLAIMS_AT_ONCE)]
                try:
                    answer = http.post(url, json=claims)
                # The process was killed during the request, so nothing was acknowledged.
                except httpx.HTTPError:
                    stop.wait(0.05)
                    continue
                self._note(answer, [claim["referenceNumber"] for claim in claims])

    def _note(self, answer: httpx.Response, references: list[str]) -> None:
        if answer.status_code != 200:
            self.refusals.append(answer.status_code)
            if answer.status_code != 503 or '"error"' not in answer.text:
                self.unclean.append(f"{answer.status_code} {answer.text[:200]}")
            return
        for reference, result in zip(references, answer.json()["result"], strict=True):
            if result["error"] is None:
                self.acknowledged.add(reference)


def a_load_client(installation: Installation) -> LoadClient:
    """Return a client of a merchant without a rate limit in a running installation."""
    command = [
        sys.executable, "-m", "dunwell", "apply", "examples/demo-merchant.yaml",
        "--data-dir", str(installation.data_dir),
    ]  # fmt: skip
    printed = subprocess.run(
        command, capture_output=True, text=True, env=plain_environment(), check=True
    ).stdout
    execute(installation, _NO_LIMIT)
    found = {
        name: re.search(rf"{name}\W+(\S+)", printed) for name in ("client_id", "client_secret")
    }
    form: dict[str, Any] = {name: each[1] for name, each in found.items() if each}
    answer = httpx.post(
        f"http://127.0.0.1:{installation.port}/api/token",
        data={"grant_type": "client_credentials", **form},
    )
    assert answer.status_code == 200, (printed, answer.text)
    [row] = execute(installation, "SELECT merchant_id FROM merchants")
    secrets = {"client_secret": form["client_secret"]}
    secrets |= {f"webhook {n}": each for n, each in enumerate(re.findall(r"whsec_\S+", printed))}
    token = json.loads(answer.text)["access_token"]
    return LoadClient(installation, row["merchant_id"], token, secrets)


def execute(installation: Installation, *statements: str) -> list[Any]:
    """Execute statements in the installation's database and return the rows of the last one."""
    url = EmbeddedPostgres(installation.data_dir / "postgres", get_binaries_folder(None)).url

    async def run() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            rows: list[Any] = []
            for each in statements:
                rows = await connection.fetch(each)
            return rows
        finally:
            await connection.close()

    return asyncio.run(run())
