"""Two dispatchers that contact the same person at once wait for each other and never deadlock."""

import asyncio
import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import asyncpg
import pytest

from dunwell.accounts.merchants.configuration import Guards
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.contacts.prepare_contacts import SetLimits, prepare_contacts
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.identities import DebtorPerson, list_identities
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.leases import Lease
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.resources import Resources
from tests.support.guards import a_guarded_harness, contact_days, held_contacts
from tests.support.harness import Harness
from tests.support.waiting import wait_until_blocked

ERIKA = "erika@example.org"
MIDNIGHT = datetime(2026, 3, 2, 23, 0, tzinfo=UTC)
_RAISE = """
INSERT INTO contact_guards VALUES ($1, $2, '{}', 5, 5)
ON CONFLICT (merchant_id, identity_digest) DO UPDATE SET per_day = 5
"""
_STATES = "SELECT state FROM communications WHERE merchant_id = $1 ORDER BY state"


async def plan(harness: Harness) -> None:
    while await Engine(harness.resources).run_once():
        pass


async def dispatch(harness: Harness, *, limit: int = 1, clock: MovableClock | None = None) -> int:
    """Dispatch one batch with its own clock and return how many messages were handed over."""
    resources = replace(harness.resources, clock=clock or harness.resources.clock)
    merchant_id, now = harness.merchant.merchant_id, resources.clock.now()
    async with resources.database.connection() as connection:
        merchant = await load_merchant(connection, merchant_id)
    assert merchant is not None
    letters = LetterFiles.open(resources)
    lease = Lease(resources.ids.new(now), now + timedelta(minutes=2))
    prepared = await prepare_contacts(
        resources, letters, merchant, lease, limits=SetLimits("EMAIL", limit)
    )
    await letters.close()
    return len(prepared.handed_over)


async def states(harness: Harness) -> list[str]:
    return [row["state"] for row in await harness.rows(_STATES)]


@pytest.mark.parametrize("is_known", [False, True])
async def test_parallel_dispatchers_contact_a_person_once(
    resources: Resources, clock: MovableClock, *, is_known: bool
) -> None:
    harness = await a_guarded_harness(resources, clock)
    person = {"email": ERIKA, "customerNumber": "K-1", "mobileNumber": "+4930123456"}
    if is_known:
        await harness.create("FORMER", **person)
        await harness.run()
        clock.advance(timedelta(days=1))
    await harness.create(*(f"INV-{n}" for n in range(12)), **person)
    await plan(harness)
    assert sum(await asyncio.gather(*(dispatch(harness) for _ in range(12)))) == 1
    assert (await states(harness)).count("PLANNED") == 11
    assert all(days.count(clock.now().date()) == 1 for days in await contact_days(harness))


async def test_a_dispatcher_waits_for_a_guard_row_that_another_is_inserting(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create("A", email=ERIKA)
    await harness.run()
    [row] = await harness.rows("SELECT * FROM contact_guards WHERE merchant_id = $1")
    await harness.rows("DELETE FROM contact_guards WHERE merchant_id = $1")
    await harness.create("B", email=ERIKA)
    await plan(harness)
    other = await connect(str(resources.settings.database_url), OpenConnection)
    async with other.transaction():
        # The row is inserted but not committed, so no other transaction can see it or insert it
        # again.
        await other.execute("INSERT INTO contact_guards VALUES ($1, $2, $3, $4, $5)", *row.values())
        waiting = asyncio.create_task(dispatch(harness))
        await wait_until_blocked(resources.database, waiting)
    await other.close()
    assert await waiting == 0
    assert [held for held, _ in await held_contacts(harness)] == ["GUARD_DAY"]
    assert await contact_days(harness) == [[clock.now().date()]]


async def test_a_locked_guard_is_read_after_its_holder_commits(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock, Guards(max_contacts_per_day=2))
    await harness.create("A", email=ERIKA)
    await harness.run()
    await harness.create("B", email=ERIKA)
    await plan(harness)
    other = await connect(str(resources.settings.database_url), OpenConnection)
    async with other.transaction():
        await other.execute(
            "UPDATE contact_guards SET contacted_on = contacted_on || $2::date"
            " WHERE merchant_id = $1",
            harness.merchant.merchant_id, clock.now().date(),
        )  # fmt: skip
        waiting = asyncio.create_task(dispatch(harness))
        await wait_until_blocked(resources.database, waiting)
    await other.close()
    assert await waiting == 0
    assert await states(harness) == ["ACCEPTED", "PLANNED"]


@pytest.mark.parametrize("is_known", [False, True])
async def test_guards_are_locked_in_the_order_of_their_digests(
    resources: Resources, clock: MovableClock, *, is_known: bool
) -> None:
    harness = await a_guarded_harness(resources, clock, Guards(5, 5))
    merchant_id, emails = harness.merchant.merchant_id, [f"p{n}@example.org" for n in range(15)]
    people = [
        list_identities(resources.keys, merchant_id, DebtorPerson(0, one, None, None))
        for one in emails
    ]
    digests = sorted(digest for [digest] in people)
    for round_number in range(1 + is_known):
        await harness.run()
        for email in emails:
            await harness.create(f"{email}-{round_number}", email=email)
    await plan(harness)
    other = await connect(str(resources.settings.database_url), OpenConnection)
    async with other.transaction():
        await other.execute(_RAISE, merchant_id, digests[0])
        waiting = asyncio.create_task(dispatch(harness, limit=15))
        await wait_until_blocked(resources.database, waiting)
        # A dispatcher that waits for the first guard does not hold later ones, so this does not
        # block.
        await other.execute("SET LOCAL lock_timeout = 200")
        await other.execute(_RAISE, merchant_id, digests[-1])
    await other.close()
    assert await waiting == 15


async def test_contacts_around_local_midnight_count_on_their_own_day(
    resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(MIDNIGHT - timedelta(minutes=1))
    harness = await a_guarded_harness(resources, clock, send="IMMEDIATE")
    await harness.create("A", "B", "C", email=ERIKA)
    await plan(harness)
    before, after = MovableClock(MIDNIGHT - timedelta(seconds=1)), MovableClock(MIDNIGHT)
    # Whichever comes first, the second uses the other day.
    out = await asyncio.gather(dispatch(harness, clock=after), dispatch(harness, clock=before))
    assert list(out) == [1, 1]
    assert await dispatch(harness, clock=after) == 0
    [days] = await contact_days(harness)
    assert days == [before.now().date(), before.now().date() + timedelta(days=1)]
    held = [("GUARD_DAY", MIDNIGHT + timedelta(days=1))]
    assert await held_contacts(harness) == held


@pytest.mark.parametrize("per_day", [1, 3])
async def test_parallel_dispatchers_with_overlapping_persons_do_not_deadlock(
    resources: Resources, clock: MovableClock, per_day: int
) -> None:
    harness = await a_guarded_harness(resources, clock, Guards(per_day, 5))
    names, customers = [f"p{n}@example.org" for n in range(12)], [f"K-{n}" for n in range(6)]
    pairs = list(itertools.product(names, customers))
    for number, (name, customer) in enumerate(Random(7).sample(pairs, len(pairs))):
        await harness.create(f"INV-{number}", email=name, customerNumber=customer)
    await plan(harness)
    # The batches share persons with each other. A deadlock would raise here.
    out = [
        sum(await asyncio.gather(*(dispatch(harness, limit=9) for _ in range(4)))) for _ in range(3)
    ]
    assert all(len(days) <= per_day for days in await contact_days(harness))
    # Every customer number is contacted as often as the limit allows.
    assert sum(out) == len(customers) * per_day == (await states(harness)).count("HANDED_OVER")


async def test_the_database_refuses_a_contact_over_the_limit(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create(email=ERIKA)
    await harness.run()
    assert await states(harness) == ["ACCEPTED"]
    assert await contact_days(harness) == [[clock.now().date()]]
    for days in ([0, 0], [0, 1, 2, 6]):
        dates = [clock.now().date() + timedelta(days=n) for n in days]
        with pytest.raises(asyncpg.CheckViolationError, match="contact_guards_keep_limits"):
            await harness.rows(
                "UPDATE contact_guards SET contacted_on = $2 WHERE merchant_id = $1", dates
            )
    assert await contact_days(harness) == [[clock.now().date()]]
