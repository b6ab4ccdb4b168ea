"""No output of any process contains a secret or personal data from a claim. The test knows both and
searches everything that is written apart from the database, the messages and the files."""

import base64
import contextlib
import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.faults.installation import Installation, wait_until
from tests.faults.load import LoadClient, a_load_client, execute
from tests.support.claims import a_claim

# A debtor with a unique name.
PERSON: dict[str, Any] = {
    "debtorName": "Zanzibara", "debtorLastName": "Quixelplotz", "companyName": "Krummhornia OHG",
    "email": "zanzi.quixel@example.org", "mobileNumber": "+4915199887766",
    "address": {
        "street": "Kanariengasse 77", "postalCode": "51147", "city": "Vogelheim", "country": "DE",
    },
    "customerNumber": "KN-CANARY-4711", "contractNumber": "KV-CANARY-4712",
}  # fmt: skip
_WORDS = (
    "Zanzibara", "Quixelplotz", "Krummhornia", "zanzi.quixel", "99887766", "Kanariengasse",
    "KN-CANARY", "KV-CANARY",
)  # fmt: skip
# The places that may contain personal data and secrets. They are closed to other users, and none of
# them is output.
_KEPT = ("postgres/data", "outbox", "files", "secret.key")
_TABLES = """
SELECT format('SELECT t::text AS row FROM %I t', relname) AS statement FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


def list_notations(secret: bytes) -> Iterator[str]:
    """Return the notations in which the secret might be written."""
    yield secret.hex()
    yield base64.b64encode(secret).decode().rstrip("=")
    yield base64.urlsafe_b64encode(secret).decode().rstrip("=")


def list_secrets(client: LoadClient) -> dict[str, str]:
    """Return the secrets of the API client, its webhooks and the installation, by their kind."""
    data_dir = client.installation.data_dir
    written = (data_dir / "secret.key").read_text().split()
    secrets = {f"key {n}": each for n, each in enumerate(written) if len(each) > 20}
    for n, each in enumerate(written):
        with contextlib.suppress(ValueError):
            raw = base64.urlsafe_b64decode(each.rpartition(":")[2] + "==")
            if len(raw) >= 16:
                secrets |= {f"key {n}, {m}": way for m, way in enumerate(list_notations(raw))}
    secrets |= {"token": client.token, **client.printed_secrets}
    mails = "".join(
        path.read_text("utf-8", "replace") for path in (data_dir / "outbox").rglob("*.eml")
    )
    links = re.findall(r"/q/([\w-]{20,})", mails.replace("=\n", ""))
    return secrets | {f"link {n}": each for n, each in enumerate(dict.fromkeys(links))}


def cause_faults(client: LoadClient) -> None:
    """Cause daily operations, rejected requests and failures, which all write to logs."""
    installation = client.installation
    origin = f"http://127.0.0.1:{installation.port}"
    claims = f"{origin}/api/merchants/{client.merchant_id}/claims"
    headers = {"Authorization": f"Bearer {client.token}"}
    canary = a_claim("CANARY-1", **PERSON)
    with httpx.Client(headers=headers, timeout=20) as http:
        claim_id = http.post(claims, json=[canary]).json()["result"][0]["id"]
        http.patch(f"{claims}/{claim_id}", json={"email": "zanzi.quixel@example.net"})
        http.patch(f"{claims}/{claim_id}", json={"email": "zanzi.quixel at nowhere"})
        http.post(claims, json=[{**canary, "currency": "Kanariengasse"}, canary])
        http.post(claims, content=b'[{"debtorName": "Zanzibara", ]')
        http.get(f"{claims}?customerNumber=KN-CANARY-4711&email=zanzi.quixel@example.org")
        http.get(f"{claims}/Quixelplotz")
        http.get(f"{origin}/q/{client.token[:22]}?name=Quixelplotz")
        http.post(f"{origin}/api/token", data={"client_id": "Zanzibara", "client_secret": "x"})
        later = {"advanceTo": time.strftime("%Y-%m-%dT09:00:00Z", time.gmtime(time.time() + 9e5))}
        http.post(f"{origin}/api/merchants/{client.merchant_id}/test-clock", json=later)
        execute(installation, "ALTER TABLE debtors RENAME TO debtors_away")
        for _ in range(3):
            http.post(claims, json=[a_claim("CANARY-2", **PERSON)])
            http.get(f"{claims}/{claim_id}")
        execute(installation, "ALTER TABLE debtors_away RENAME TO debtors")


def read_outputs(installation: Installation) -> dict[str, str]:
    """Return the output of up and its child processes, and each file of the data folder apart from
    those places, by name."""
    folder = installation.data_dir
    outputs = {"stderr": installation.read_log(), "stdout": installation.read_rest()}
    for path in folder.rglob("*"):
        inside = str(path.relative_to(folder))
        if path.is_file() and not inside.startswith(_KEPT):
            outputs[inside] = path.read_bytes().decode("utf-8", "replace")
    return outputs


def find_disclosed(outputs: dict[str, str], secrets: dict[str, str]) -> list[tuple[str, str]]:
    looked_for = {word: word for word in _WORDS} | secrets
    return [
        (where, name)
        for where, text in outputs.items()
        for name, value in looked_for.items()
        if value in text
    ]


def dump(installation: Installation) -> str:
    statements = [row["statement"] for row in execute(installation, _TABLES)]
    return "\n".join(row["row"] for each in statements for row in execute(installation, each))


def _has_database(installation: Installation) -> bool:
    try:
        return bool(execute(installation, "SELECT 1"))
    except (OSError, asyncpg.PostgresError):
        return False


def test_no_output_contains_a_secret_or_personal_data(installation: Installation) -> None:
    up = installation.start_ready()
    client = a_load_client(installation)
    cause_faults(client)
    for role in ("worker", "postgres"):
        child = installation.find_child(up, role)
        assert child is not None
        child.kill()
        child.wait()
        # The readiness of a moment ago may still be reported.
        wait_until(partial(_has_database, installation), f"recovery after killing {role}")
    outbox: Path = installation.data_dir / "outbox"
    wait_until(lambda: list(outbox.rglob("*.eml")), "the message to the debtor")
    secrets = list_secrets(client)
    assert {name.split()[0] for name in secrets} >= {"key", "token", "client_secret", "link"}
    stored = dump(installation)
    assert "Quixelplotz" in stored
    assert [name for name, value in secrets.items() if value in stored] == []
    installation.stop()
    outputs = read_outputs(installation)
    assert "round failed" in installation.read_log() or "error" in installation.read_log().lower()
    assert find_disclosed(outputs, secrets) == []
