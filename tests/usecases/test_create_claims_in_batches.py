"""Claims of concurrent requests: one statement creates them, with the same results as separate
requests."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from dunwell.accounts.merchants.actor import Actor, build_credential_actor
from dunwell.accounts.merchants.rights import ALL_RIGHTS
from dunwell.cases.intake.create_claims import CreationResult
from dunwell.cases.intake.create_together import ClaimIntake
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.errors import DuplicateReferenceNumber, MerchantNotConfigured
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.definitions import a_definition
from tests.support.harness import ERP, Harness, a_harness
from tests.support.lost_answers import Losses, losing
from tests.support.merchants import CONFIGURATION
from tests.support.recorded_statements import a_counted_database

SHOP = build_credential_actor("shop", ALL_RIGHTS)
_AUDITS = """
SELECT actor_id, details->'claimIds' AS claim_ids FROM audit_log
WHERE merchant_id = $1 AND action = 'claims.create' ORDER BY details->'claimIds'->0
"""
_STORED = "SELECT claim_id, reference_number FROM claims WHERE merchant_id = $1 ORDER BY 2"
_PARTS = """
SELECT (SELECT count(*) FROM debtors WHERE merchant_id = $1) AS debtors,
       (SELECT count(*) FROM items WHERE merchant_id = $1) AS items
"""


class ClaimSubmitter:
    """Sends requests as a web process does."""

    def __init__(self, harness: Harness, intake: ClaimIntake) -> None:
        self.harness = harness
        self.intake = intake

    async def submit(self, *references: str, actor: Actor = ERP) -> list[CreationResult]:
        """Send one request."""
        claims = [a_submission(each) for each in references]
        return await self.intake.create(self.harness.merchant, actor, claims)

    async def submit_at_once(self, *requests: Sequence[str]) -> list[list[CreationResult]]:
        return await asyncio.gather(*(self.submit(*each) for each in requests))

    async def stored(self) -> dict[str, int]:
        rows = await self.harness.rows(_STORED)
        return {row["reference_number"]: row["claim_id"] for row in rows}


def ids_of(*answers: Sequence[CreationResult]) -> dict[str | None, int | None]:
    """Return the ids by reference number of results that are all successful."""
    assert [each.error for results in answers for each in results if each.error] == []
    return {each.reference_number: each.claim_id for results in answers for each in results}


@pytest.fixture
async def submitter(resources: Resources, clock: MovableClock) -> ClaimSubmitter:
    return ClaimSubmitter(await a_harness(resources, clock, a_definition()), ClaimIntake(resources))


async def test_requests_that_arrive_together_share_one_statement(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    async with a_counted_database(resources, clock) as (counted_resources, statements):
        submitter = ClaimSubmitter(harness, ClaimIntake(counted_resources))
        await submitter.submit("A-0")
        await statements.take()

        answers = await submitter.submit_at_once(["A-1"], ["A-2", "A-3"], ["A-4"])
        sent = await statements.take()

    assert [len(each) for each in answers] == [1, 2, 1]
    assert ids_of(*answers).items() <= (await submitter.stored()).items()
    assert len(sent) == 1, sent
    assert (await harness.read((await submitter.stored())["A-4"])).next_step_at == clock.now()


async def test_each_request_gets_an_audit_entry_with_its_actor(
    submitter: ClaimSubmitter,
) -> None:
    await asyncio.gather(
        submitter.submit("A-1", "A-2"),
        submitter.submit("A-3", actor=SHOP),
        submitter.submit_at_once(),
    )
    await submitter.submit("A-3")

    stored = await submitter.stored()
    assert [tuple(row) for row in await submitter.harness.rows(_AUDITS)] == [
        ("erp", [stored["A-1"], stored["A-2"]]),
        ("shop", [stored["A-3"]]),
    ]


async def test_a_reference_of_two_requests_goes_to_the_first_and_the_second_names_its_claim(
    submitter: ClaimSubmitter,
) -> None:
    first, second, other = await submitter.submit_at_once(["A"], ["A", "B"], ["C"])

    stored = await submitter.stored()
    assert ids_of(first, other, second[1:]) == stored
    assert isinstance(second[0].error, DuplicateReferenceNumber)
    assert second[0].error.details == {"claimId": stored["A"]}


async def test_large_requests_run_alone_and_delay_no_others(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    async with a_counted_database(resources, clock, connections=3) as (
        counted_resources,
        statements,
    ):
        submitter = ClaimSubmitter(harness, ClaimIntake(counted_resources))
        await submitter.submit(*(f"A-{n}" for n in range(21)))
        await statements.take()
        done: list[str] = []

        async def submit(*references: str) -> None:
            ids_of(await submitter.submit(*references))
            done.append(references[0])

        many = [f"B-{n}" for n in range(1000)]
        await asyncio.gather(submit(*many), *(submit(f"C-{n}") for n in range(20)))
        sent = [each for each in await statements.take() if "INSERT" in each]

    assert done[-1] == "B-0"
    assert len(sent) == 2


async def test_claims_start_at_the_sandbox_time_of_their_request(
    submitter: ClaimSubmitter, clock: MovableClock
) -> None:
    merchant_now = submitter.harness.merchant
    merchant_later = msgspec.structs.replace(
        merchant_now, sandbox_now=clock.now() + timedelta(days=3)
    )

    answers = await asyncio.gather(
        *(
            submitter.intake.create(merchant, ERP, [a_submission(f"A-{n}")])
            for n, merchant in enumerate((merchant_now, merchant_later, merchant_now))
        )
    )

    ids = ids_of(*answers)
    starts = [(await submitter.harness.read(ids[f"A-{n}"] or 0)).next_step_at for n in range(3)]
    assert starts == [clock.now(), merchant_later.sandbox_now, clock.now()]


async def test_an_unconfigured_merchant_gets_an_error_and_delays_no_others(
    submitter: ClaimSubmitter, resources: Resources, clock: MovableClock
) -> None:
    incomplete = msgspec.structs.replace(CONFIGURATION, channels={})
    bare = (await a_harness(resources, clock, key="bare", configuration=incomplete)).merchant
    asked = [
        submitter.intake.create(bare, ERP, [a_submission("A-1")]),
        submitter.submit("A-1"),
        submitter.intake.create(bare, ERP, [a_submission("A-2")]),
    ]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(each, MerchantNotConfigured) for each in answers] == [True, False, True]


async def test_one_request_that_cannot_be_written_does_not_harm_the_others(
    submitter: ClaimSubmitter, database: Database
) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "ALTER TABLE claims ADD CONSTRAINT no_b CHECK (reference_number <> 'B')"
        )
        try:
            answers = await asyncio.gather(
                *(submitter.submit(each) for each in "ABC"), return_exceptions=True
            )
        finally:
            await connection.execute("ALTER TABLE claims DROP CONSTRAINT no_b")

    assert isinstance(answers[1], Exception)
    assert ids_of(answers[0], answers[2]) == await submitter.stored()  # type: ignore[arg-type]
    assert len(await submitter.harness.rows(_AUDITS)) == 2


async def test_two_processes_create_a_reference_once_and_share_no_id(
    submitter: ClaimSubmitter, resources: Resources
) -> None:
    other = ClaimSubmitter(submitter.harness, ClaimIntake(resources))
    references = [[f"A-{n}"] for n in range(250)]

    answers = await asyncio.gather(
        submitter.submit_at_once(*references), other.submit_at_once(*references)
    )

    stored = await submitter.stored()
    assert len(stored) == len(set(stored.values())) == 250
    for pair in zip(*answers, strict=True):
        results = [result for [result] in pair]
        created = [each for each in results if each.error is None]
        refused = [each.error for each in results if each.error is not None]
        assert [each.claim_id for each in created] == [stored[results[0].reference_number or ""]]
        assert [each.details["claimId"] for each in refused] == [created[0].claim_id]


async def test_other_ids_are_reserved_if_those_are_already_used(
    submitter: ClaimSubmitter, database: Database
) -> None:
    """Like after a restore of the database to an earlier time."""
    await submitter.submit("A-1")
    async with database.connection() as connection:
        await connection.execute("SELECT setval('claims_claim_id_seq', 10_000_000)")
        other = ClaimSubmitter(submitter.harness, ClaimIntake(submitter.harness.resources))
        await other.submit("B-1")
        await connection.execute("SELECT setval('claims_claim_id_seq', 10_000_000)")
        again = ClaimSubmitter(submitter.harness, ClaimIntake(submitter.harness.resources))
        answers = await again.submit_at_once(["C-1"], ["C-2"])
    assert ids_of(*answers).items() <= (await submitter.stored()).items()


@pytest.fixture
async def losses(postgres: EmbeddedPostgres) -> AsyncIterator[Losses]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        async with losing(postgres, Path(name)) as losses:
            yield losses


@pytest.fixture
async def submitter_with_losses(
    submitter: ClaimSubmitter, losses: Losses
) -> AsyncIterator[ClaimSubmitter]:
    """The same service over a connection that loses results."""
    resources = submitter.harness.resources
    lossy_database = await Database.open(losses.url, size=3)
    yield ClaimSubmitter(
        submitter.harness, ClaimIntake(replace(resources, database=lossy_database))
    )
    await lossy_database.close()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("number", [1, 3])
async def test_a_claim_from_a_lost_commit_is_not_reported_as_duplicate(
    submitter_with_losses: ClaimSubmitter, losses: Losses, number: int, times: int
) -> None:
    losses.marker, losses.left = b"LOST-0", times
    asked = [submitter_with_losses.submit(f"LOST-{n}", f"M-{n}") for n in range(number)]

    answers = await asyncio.gather(*asked, return_exceptions=True)

    assert losses.lost == times
    stored = await submitter_with_losses.stored()
    assert len(stored) == 2 * number
    away, returned = (answers[:1], answers[1:]) if times == 2 else ([], answers)
    assert [getattr(each, "type", None) for each in away] == ["DatabaseAway"] * len(away)
    assert ids_of(*returned).items() <= stored.items()  # type: ignore[arg-type]
    assert (
        sum(len(row["claim_ids"]) for row in await submitter_with_losses.harness.rows(_AUDITS))
        == 2 * number
    )
    assert len(await submitter_with_losses.harness.rows(_AUDITS)) == number
    assert [tuple(row) for row in await submitter_with_losses.harness.rows(_PARTS)] == [
        (2 * number, 2 * number)
    ]


async def test_a_repeated_large_request_finds_the_claims_it_created(
    submitter_with_losses: ClaimSubmitter, losses: Losses
) -> None:
    losses.marker, losses.left = b"A-20", 1
    answers = await submitter_with_losses.submit(*(f"A-{n}" for n in range(21)))
    assert losses.lost == 1
    assert ids_of(answers) == await submitter_with_losses.stored()


async def test_a_repeated_request_is_still_a_duplicate_of_an_earlier_claim(
    submitter_with_losses: ClaimSubmitter, submitter: ClaimSubmitter, losses: Losses
) -> None:
    [first] = await submitter.submit("A")
    losses.marker, losses.left = b"LOST-0", 1
    _, [again] = await submitter_with_losses.submit_at_once(["LOST-0"], ["A"])
    assert losses.lost == 1
    assert again.error is not None
    assert again.error.details == {"claimId": first.claim_id}
