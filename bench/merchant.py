"""The merchant that is measured, applied from a merchant file like any other."""

import asyncio
import itertools
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.claims import make_submission
from bench.environment import Ground
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, build_credential_actor
from dunwell.accounts.merchants.credentials.tokens import (
    SECRET_RANDOM_BYTES,
    NewCredential,
    issue_token,
)
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import SCOPE_RIGHTS, Scope
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.installed import list_adapters, list_payment_provider_names
from dunwell.cases.intake.create_claims import create_claims
from dunwell.cases.intake.submission import MAX_CLAIMS
from dunwell.operations.merchant_file.apply_file import apply_file
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml

# Within contact hours, and not on a holiday.
MONDAY_MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_CLAIMS_AT_START = 5_000
_FIRST_NUMBER_AT_START = 90_000_000
_FILE = Path(__file__).parent / "merchant.yaml"
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class BenchMerchant:
    resources: Resources
    merchant: Merchant
    credential: NewCredential

    @property
    def actor(self) -> Actor:
        return build_credential_actor(self.credential.client_id, SCOPE_RIGHTS[Scope.ALL])

    def work(self, tx: Any) -> Work:
        return Work.open(self.resources, tx, self.merchant, self.actor)


async def make_merchant(
    ground: Ground, workflow: str | None, webhook: str | None = None, *, is_live: bool = False
) -> BenchMerchant:
    """Create a merchant whose claims start on `workflow`. With `is_live`, it uses the system's
    clock."""
    clock = MovableClock(datetime.now(UTC) if is_live else MONDAY_MORNING)
    resources = ground.resources(clock)
    path = await asyncio.to_thread(_write_file, ground, workflow, webhook)
    report = await apply_file(
        resources, path, publish=True, available_adapters=list_adapters(ground.settings),
        available_providers=list_payment_provider_names(Installation()),
    )  # fmt: skip
    assert report.merchant_id is not None
    async with ground.database.connection() as connection:
        merchant = await load_merchant(connection, report.merchant_id)
    assert merchant is not None
    return BenchMerchant(resources, merchant, _read_credential(report))


def _write_file(ground: Ground, workflow: str | None, webhook: str | None) -> Path:
    document = parse_yaml(_FILE.read_text())
    document["key"] = f"bench-{next(_numbers)}"
    document["assignmentRules"]["default"] = workflow
    if webhook is not None:
        document["webhooks"] = [{"url": webhook, "events": ["*"]}]
    path = ground.folder / f"{document['key']}.json"
    path.write_bytes(msgspec.json.encode(document))
    return path


def _read_credential(report: ApplyReport) -> NewCredential:
    [made] = report.credentials
    return NewCredential(made.client_id, made.client_secret)


async def obtain_token(bench: BenchMerchant) -> str:
    resources = bench.resources
    async with resources.database.transaction() as tx:
        issued = await issue_token(
            tx, bench.credential, now=datetime.now(UTC),
            randomness=secrets.token_bytes(SECRET_RANDOM_BYTES), ids=resources.ids,
        )  # fmt: skip
    return issued.access_token


async def start_intake(ground: Ground, bench: BenchMerchant) -> None:
    """Create some claims. On empty tables PostgreSQL would plan foreign key checks without an
    index, and keep those plans while the tables grow."""
    await ground.clear_claims()
    await submit_claims(bench, _CLAIMS_AT_START, _FIRST_NUMBER_AT_START)
    await ground.settle()


async def submit_claims(bench: BenchMerchant, count: int, first_number: int = 0) -> None:
    """Create claims that are due at once."""
    end = first_number + count
    for start in range(first_number, end, MAX_CLAIMS):
        numbers = range(start, min(start + MAX_CLAIMS, end))
        async with bench.resources.database.connection() as connection:
            results = await create_claims(
                bench.work(connection), [make_submission(n) for n in numbers]
            )
        assert all(result.claim_id is not None for result in results)
