"""A rehearsed disaster: backup under load, loss of the host, restore elsewhere, load again. Rows
are compared one by one, and the commands are those of the runbook. What merchants hold (cursors,
ids, webhooks) stays valid."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.faults.installation import Installation, kill_all, wait_until
from tests.faults.load import LoadClient, a_load_client, execute
from tests.support.claims import a_claim
from tests.support.operator_pages import Follow
from tests.support.receiver import Receiver, a_receiver, answers

# Table -> the columns that are written once and do not change later.
_LASTING = {
    "claims": "jsonb_build_object('claim_id', claim_id, 'of', reference_number, 'at', created_at)",
    "debtors": "to_jsonb(t)",
    "items": "to_jsonb(t)",
    "events": "to_jsonb(t)",
    "audit_log": "to_jsonb(t) - 'seal' - 'digest'",
}
_AT_ONCE = 40


@dataclass
class LoadedMerchant:
    """The merchant's system: submits claims, reads events after its cursor, receives webhooks."""

    client: LoadClient
    receiver: Receiver
    # A cursor of the list of events that has some events after it, as last received.
    cursor: str | None = None
    # The claims that were submitted after the restore.
    new: set[str] = field(default_factory=set)

    def get(self, path: str, **given: object) -> dict[str, Any]:
        answer = self._send("GET", path, params={k: v for k, v in given.items() if v is not None})
        result: dict[str, Any] = answer["result"]
        return result

    def submit(self, references: list[str]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self._send(
            "POST", "/claims", json=[a_claim(each) for each in references]
        )["result"]
        return results

    def read_events(self, cursor: str | None) -> list[dict[str, Any]]:
        """Return all events after the cursor and keep the last cursor received."""
        events: list[dict[str, Any]] = []
        while True:
            page = self.get("/events", limit=20, cursor=cursor)
            events += page["items"]
            if page["nextCursor"] is None:
                return events
            self.cursor = cursor = page["nextCursor"]

    def list_newest(self, count: int) -> list[str]:
        """Return the references of the newest claims, the newest first."""
        found: list[str] = []
        cursor = None
        while len(found) < count:
            page = self.get("/claims", limit=50, cursor=cursor)
            found += [each["referenceNumber"] for each in page["items"]]
            cursor = page["nextCursor"]
        return found[:count]

    def _send(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        client = self.client
        url = f"http://127.0.0.1:{client.installation.port}/api/merchants/{client.merchant_id}"
        headers = {"Authorization": f"Bearer {client.token}"}
        answer = httpx.request(method, f"{url}{path}", headers=headers, timeout=30, **given)
        assert answer.status_code == 200, answer.text
        answered: dict[str, Any] = answer.json()
        return answered


def read_rows(installation: Installation) -> Mapping[str, set[str]]:
    return {
        table: {
            row["row"]
            for row in execute(installation, f"SELECT ({what})::text AS row FROM {table} t")
        }
        for table, what in _LASTING.items()
    }


async def test_an_installation_recovers_from_a_disaster_by_its_backup(
    installation: Installation, tmp_path: Path, follow: Follow
) -> None:
    other = Installation(tmp_path / "other")
    async with a_receiver(answers(204)) as receiver:
        merchant = await asyncio.to_thread(create_loaded_merchant, installation, receiver)
        try:
            acknowledged = await asyncio.to_thread(
                back_up_under_load, merchant, tmp_path / "backups", follow
            )
            await asyncio.to_thread(merchant.read_events, None)
            rows = await asyncio.to_thread(read_rows, installation)
            await asyncio.to_thread(destroy_host, installation, tmp_path / "safe")

            merchant.client.installation = other
            await asyncio.to_thread(restore, other, tmp_path, follow)
            await asyncio.to_thread(check_restored, merchant, acknowledged, rows)

            await asyncio.to_thread(resume, other, follow)
            await asyncio.to_thread(load_again, merchant)
            await asyncio.to_thread(check_new, merchant)
            await asyncio.to_thread(other.stop)
        finally:
            other.end()


def create_loaded_merchant(installation: Installation, receiver: Receiver) -> LoadedMerchant:
    installation.start_ready()
    client = a_load_client(installation)
    execute(installation, f"UPDATE webhook_endpoints SET url = '{receiver.url}'")
    return LoadedMerchant(client, receiver)


def back_up_under_load(merchant: LoadedMerchant, backups: Path, follow: Follow) -> set[str]:
    """Back up and return the claims and events that were acknowledged before the backup began."""
    client = merchant.client
    with client.at_work():
        client.wait_for_more(50)
        wait_until(lambda: merchant.receiver.received, "webhooks arrive")
        acknowledged = client.acknowledged | set(merchant.receiver.event_ids)
        here = {"DUNWELL_DATA_DIR": client.installation.data_dir, "BACKUPS": backups}
        assert "backed up as of" in follow("A backup", **here)
        client.wait_for_more(50)
    wait_until(lambda: len(set(merchant.receiver.event_ids)) >= 100, "webhooks arrive")
    return acknowledged


def destroy_host(installation: Installation, safe: Path) -> None:
    """Lose everything except the key, which was kept elsewhere."""
    safe.mkdir()
    shutil.copy2(installation.data_dir / "secret.key", safe)
    kill_all(installation.find_processes())
    installation.end()
    shutil.rmtree(installation.data_dir)


def restore(other: Installation, folder: Path, follow: Follow) -> None:
    there = {
        "DUNWELL_DATA_DIR": other.data_dir, "BACKUPS": folder / "backups", "SAFE": folder / "safe",
    }  # fmt: skip
    assert "The worker does nothing until" in follow("Restoring it", **there)
    other.start_ready()
    wait_until(lambda: "held after a restore" in other.read_log(), "the worker is held")


def check_restored(
    merchant: LoadedMerchant, acknowledged: set[str], rows: Mapping[str, set[str]]
) -> None:
    """Check that each row is unchanged, and that nothing acknowledged before the backup is
    missing."""
    restored = read_rows(merchant.client.installation)
    assert {table: found - rows[table] for table, found in restored.items()} == {
        table: set() for table in rows
    }
    there = merchant.client.read_stored()
    assert acknowledged <= there | {json.loads(each)["event_id"] for each in restored["events"]}
    # Each claim has all of its related rows.
    ids = {json.loads(each)["claim_id"] for each in restored["claims"]}
    for table in ("debtors", "items"):
        before = {each for each in rows[table] if json.loads(each)["claim_id"] in ids}
        assert restored[table] == before, table
    # What was acknowledged after the backup is lost. The merchant submits it again.
    lost = merchant.client.acknowledged - there
    assert lost
    print(
        f"{len(merchant.client.acknowledged)} acknowledged, {len(acknowledged)} claims and events"
        f" reported before the backup, {len(there)} restored, {len(lost)} lost with the host"
    )


def resume(other: Installation, follow: Follow) -> None:
    here = {"DUNWELL_DATA_DIR": other.data_dir}
    assert "resumed" in follow("Before anything is sent again", **here)


def load_again(merchant: LoadedMerchant) -> None:
    """Submit everything acknowledged once more, of which existing claims are rejected, and then
    more claims."""
    client = merchant.client
    there = client.read_stored()
    every = sorted(client.acknowledged)
    for start in range(0, len(every), _AT_ONCE):
        references = every[start : start + _AT_ONCE]
        for reference, result in zip(references, merchant.submit(references), strict=True):
            error = result["error"] and result["error"]["type"]
            assert error == ("DuplicateReferenceNumber" if reference in there else None)
    with client.at_work():
        client.wait_for_more(50)
    assert client.find_lost() == set()
    assert client.unclean == []
    merchant.new = client.read_stored() - there


def check_new(merchant: LoadedMerchant) -> None:
    """Check that lists show the new claims first and after the cursor from before the disaster, and
    that each of their webhooks arrives with one id and one body."""
    # A list hides rows that a transaction still in progress could precede.
    wait_until(
        lambda: set(merchant.list_newest(len(merchant.new))) == merchant.new,
        "the new claims are the newest of the list",
    )
    before = merchant.cursor
    assert before is not None

    def list_new() -> dict[str, str]:
        events = merchant.read_events(before)
        return {each["eventId"]: each["claim"]["referenceNumber"] for each in events}

    wait_until(
        lambda: merchant.new <= set(list_new().values()), "their events are behind the cursor"
    )
    new = {event_id for event_id, reference in list_new().items() if reference in merchant.new}
    received = merchant.receiver.received
    wait_until(lambda: new <= set(merchant.receiver.event_ids), "their webhooks arrive")
    bodies: dict[str, set[bytes]] = {}
    for each in received:
        bodies.setdefault(each.event_id, set()).add(each.body)
    assert {len(found) for found in bodies.values()} == {1}
    print(
        f"{len(merchant.new)} claims handed over after it, {len(new)} events after the old cursor,"
        f" {len(received) - len(bodies)} repeated webhooks of {len(received)}"
    )
