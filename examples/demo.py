"""The life of a few claims, told as it happens: `make demo`, or `make demo ONCE=1` to end after it.

Starts Dunwell, applies examples/demo-merchant.yaml, hands over examples/claims.json through the
public API, moves the sandbox clock day by day, and prints messages, fees, checkpoints and webhooks.
Exit 1 names the part of the story that did not happen.
"""

import argparse
import asyncio
import contextlib
import email
import email.policy
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from examples.merchant_client import ApiRefused, MerchantClient
from examples.receiver import Receiver

EXAMPLES = Path(__file__).parent
INVOICE = EXAMPLES / "invoice.pdf"
CLAIMS = EXAMPLES / "claims.json"
RECEIVER_PORT = 8099
ZONE = ZoneInfo("Europe/Berlin")
# Days after the first; the paying customer pays on the tenth.
LAST_DAY = 40
PAY_DAY = 10
PAYING = 1
PATIENCE_SECONDS = 20.0


class StoryBroken(Exception):  # noqa: N818 - reads as what happened
    """A part of the story did not happen; the message names it."""


@dataclass
class Story:
    """What has happened so far."""

    claims: dict[int, str] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    # What the paying customer's claim had been told of when it was paid.
    told_before_payment: list[str] = field(default_factory=list)

    def types_of(self, claim_id: int) -> list[str]:
        """In alphabetical order: webhooks may overtake each other."""
        return sorted(e["type"] for e in self.events if e["claim"]["id"] == claim_id)


@dataclass
class Stage:
    """Where the demo runs."""

    data_dir: Path
    origin: str
    port: int

    def dunwell(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "dunwell", *words]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"DUNWELL_DATA_DIR": str(self.data_dir)}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--once", action="store_true", help="end after the story")
    arguments.add_argument("--port", type=int, default=8000)
    arguments.add_argument("--data-dir", type=Path, default=Path("var"))
    given = arguments.parse_args()
    stage = Stage(given.data_dir.resolve(), f"http://127.0.0.1:{given.port}", given.port)
    server = start_dunwell(stage)
    try:
        asyncio.run(tell(stage, stay=not given.once))
    except (StoryBroken, ApiRefused) as error:
        say(f"\nThe story broke: {error}")
        return 1
    except KeyboardInterrupt:
        say("\nGoodbye.")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)
    return 0


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


async def tell(stage: Stage, *, stay: bool) -> None:
    secrets = await asyncio.to_thread(apply_merchant, stage)
    story = Story()

    def on_event(body: dict[str, Any]) -> None:
        story.events.append(body)
        print_event(stage, story, body)

    receiver = Receiver(
        secrets["webhook"], port=RECEIVER_PORT, on_event=on_event, on_refusal=story.refused.append
    )
    await receiver.start()
    try:
        async with MerchantClient(
            f"{stage.origin}/api",
            secrets["merchantId"],
            secrets["clientId"],
            secrets["clientSecret"],
        ) as client:
            await hand_over(client, story)
            await live(client, story)
            await check(client, story)
        print_addresses(stage)
        if stay:
            say("\nDunwell stays up. Ctrl-C ends it.")
            await asyncio.Event().wait()
    finally:
        await receiver.stop()


def apply_merchant(stage: Stage) -> dict[str, Any]:
    """Apply the merchant's file; secrets are shown once, so they are kept for the next demo."""
    kept_path = stage.data_dir / "demo-secrets.json"
    kept = json.loads(kept_path.read_text()) if kept_path.exists() else {}
    command = stage.dunwell("apply", str(EXAMPLES / "demo-merchant.yaml"), "--publish", "--json")
    done = subprocess.run(
        command, env=stage.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StoryBroken(f"the merchant file was not applied: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    kept["merchantId"] = report["merchantId"]
    for credential in report["credentials"]:
        kept |= {"clientId": credential["clientId"], "clientSecret": credential["clientSecret"]}
    for webhook in report["webhooks"]:
        kept["webhook"] = webhook["secret"]
    if not {"clientSecret", "webhook"} <= kept.keys():
        raise StoryBroken(f"{kept_path} is gone, and with it the secrets; delete {stage.data_dir}")
    kept_path.touch(mode=0o600)
    kept_path.write_text(json.dumps(kept))
    say(f"Merchant {report['key']} applied: {len(report['changes'])} changes")
    return kept


async def hand_over(client: MerchantClient, story: Story) -> None:
    """Upload an invoice, create the claims; on a later demo under references not used yet."""
    ticket = await client.upload("invoice.pdf", INVOICE.read_bytes(), "Invoice RE-1001")
    claims = json.loads(CLAIMS.read_text())
    claims[0]["attachments"] = [{"sourceType": "TICKET", "source": ticket}]
    for turn in range(1, 1000):
        suffix = "" if turn == 1 else f"-{turn}"
        numbered = [c | {"referenceNumber": c["referenceNumber"] + suffix} for c in claims]
        results = await client.create_claims(numbered)
        created = [result for result in results if result["error"] is None]
        if created:
            break
    if len(created) != len(claims):
        raise StoryBroken(f"claims were not created: {results}")
    story.claims = {result["id"]: result["referenceNumber"] for result in created}
    say(f"{len(created)} claims handed over: {', '.join(story.claims.values())}\n")


async def live(client: MerchantClient, story: Story) -> None:
    """Move the clock day by day, at noon, and wait for each day's webhooks."""
    now = datetime.fromisoformat(await client.read_clock()).astimezone(ZONE)
    await expect_events(client, story, now.isoformat())
    for day in range(LAST_DAY + 1):
        if day == PAY_DAY:
            await pay(client, story)
        noon = (now + timedelta(days=day)).replace(hour=12, minute=0, second=0, microsecond=0)
        if noon > now:
            await expect_events(client, story, noon.isoformat())


async def expect_events(client: MerchantClient, story: Story, instant: str) -> None:
    """Advance to the instant; every event it raises must arrive as a webhook, soon."""
    before = len(story.events)
    moved = await client.advance_clock(instant)
    await arrive(story, before + moved["eventsRaised"], f"webhooks of {instant[:10]}")


async def arrive(story: Story, count: int, what: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while len(story.events) < count:
        if asyncio.get_running_loop().time() > deadline:
            raise StoryBroken(f"{what}: {len(story.events)} of {count} arrived")
        await asyncio.sleep(0.02)


async def pay(client: MerchantClient, story: Story) -> None:
    """A customer paid by bank transfer: the shop's bookkeeping records it."""
    claim_id = list(story.claims)[PAYING]
    claim = await client.read_claim(claim_id)
    amount = int(claim["outstanding"])
    story.told_before_payment = story.types_of(claim_id)
    await client.record_payment(
        claim_id,
        {"amount": amount, "currency": claim["currency"], "transactionId": f"bank-{claim_id}"},
    )
    say(f"             payment    {story.claims[claim_id]}  {render_money(amount)} recorded")


async def check(client: MerchantClient, story: Story) -> None:
    """Name every part of the story that did not happen."""
    paid_id = list(story.claims)[PAYING]
    faults = [f"a webhook was refused: {reason}" for reason in story.refused]
    statuses = {i: (await client.read_claim(i))["status"] for i in story.claims}
    if statuses[paid_id] != "COLLECTED":
        faults.append(f"the paid claim is {statuses[paid_id]}, not COLLECTED")
    if "ESCALATED" not in story.told_before_payment:
        faults.append("the paying customer was never reminded")
    if story.types_of(paid_id) != story.told_before_payment:
        faults.append("the paying customer was contacted after the payment")
    whole = sorted([*["ESCALATED"] * 3, "FEE_ADDED", *["CHECKPOINT_REACHED"] * 2, "ARCHIVED"])
    faults += [
        f"{reference}: {statuses[claim_id]}, told {story.types_of(claim_id)}"
        for claim_id, reference in story.claims.items()
        if claim_id != paid_id
        and (statuses[claim_id] != "ARCHIVED" or story.types_of(claim_id) != whole)
    ]
    if faults:
        raise StoryBroken("; ".join(faults))
    archived = sum(status == "ARCHIVED" for status in statuses.values())
    say(f"\n1 claim collected, {archived} archived, {len(story.events)} webhooks, all verified.")


def print_event(stage: Stage, story: Story, body: dict[str, Any]) -> None:
    claim = body["claim"]
    local = datetime.fromisoformat(body["date"]).astimezone(ZONE)
    reference = story.claims.get(claim["id"], claim["referenceNumber"])
    if body["type"] == "ESCALATED":
        to, subject = read_message(stage, claim["merchantId"], claim["communication"])
        say(f"{local:%d %b %H:%M}  e-mail     {reference}  to {to}: {subject}")
    else:
        say(f"{local:%d %b %H:%M}  {describe(body)}")
    step = body.get("actionStep", {}).get("name", "-")
    say(f"             webhook    {reference}  {body['type']} ({step}), signature verified")


def describe(body: dict[str, Any]) -> str:
    claim, reference = body["claim"], body["claim"]["referenceNumber"]
    if body["type"] == "FEE_ADDED":
        fee = claim["fee"]
        return f"fee        {reference}  {render_money(int(fee['value']))} {fee['type']}"
    if body["type"] == "CHECKPOINT_REACHED":
        return f"checkpoint {reference}  {claim['details']['message']}"
    return f"{body['type'].lower():<10} {reference}"


def read_message(stage: Stage, merchant_id: int, communication: dict[str, str]) -> tuple[str, str]:
    """Recipient and subject of an e-mail, as the outbox channel wrote it."""
    folder = stage.data_dir / "outbox" / str(merchant_id) / communication["channel"]
    raw = (folder / f"{communication['reference']}.eml").read_bytes()
    message = email.message_from_bytes(raw, policy=email.policy.default)
    return str(message["To"]), str(message["Subject"])


def render_money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d} EUR"


def print_addresses(stage: Stage) -> None:
    say(f"\nAPI docs        {stage.origin}/docs")
    say(f"Sent messages   {stage.origin}/outbox")
    say(f"Figures         {stage.origin}/metrics")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
