"""Invariants of a merchant's claims after every operation, whatever happened before.

They are read from the database and compared with what the channels received and with the
definitions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from dunwell.contact.escalation.engine import ARCHIVING
from dunwell.core.workflows.definition import Step, WaitStep
from tests.support.process_simulation import ProcessSimulation
from tests.support.process_variants import read_tag

_CLAIMS = """
SELECT claim_id, run, workflow_id, workflow_major, status, next_step_id, due_at, event_sequence
FROM claims WHERE merchant_id = $1
"""
_HISTORY = """
SELECT claim_id, run, step_id, version_id, outcome, at FROM step_history WHERE merchant_id = $1
"""
_CONTACTS = """
SELECT communication_id, claim_id, run, step_id, state, channel, handed_over_at, version_id,
       email, mobile_number
FROM communications JOIN debtors USING (merchant_id, claim_id) WHERE merchant_id = $1
"""
_EVENTS = """
SELECT claim_id, sequence, type, body FROM events WHERE merchant_id = $1 AND sequence IS NOT NULL
ORDER BY claim_id, sequence
"""
_LEDGER = """
SELECT communication_id, claim_id, run, step_id, place, outcome FROM contact_ledger
WHERE merchant_id = $1
"""
_OPEN = ("PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "UNKNOWN")
_MADE = ("ACCEPTED", "HANDED_OVER", "UNKNOWN")
_ACTIVE = ("CREATED", "IN_PROCESS")
_BERLIN = ZoneInfo("Europe/Berlin")

Run = tuple[int, int]


@dataclass
class ClaimInvariants:
    simulation: ProcessSimulation
    # The workflow of each run, and the steps of its events in the order in which they were first
    # seen.
    runs: dict[Run, tuple[UUID, int]] = field(default_factory=dict)
    events_by_run: dict[Run, list[tuple[str, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    history: dict[tuple[int, int, int], Any] = field(default_factory=dict)
    seen_events: Counter[int] = field(default_factory=Counter)
    seen_messages: int = 0
    seen_ids: set[UUID] = field(default_factory=set)

    async def check(self) -> None:
        harness = self.simulation.harness
        claims = {row["claim_id"]: row for row in await harness.rows(_CLAIMS)}
        history = await harness.rows(_HISTORY)
        contacts = await harness.rows(_CONTACTS)
        ledger = await harness.rows(_LEDGER)
        events = await harness.rows(_EVENTS)
        for row in claims.values():
            self.runs.setdefault(
                (row["claim_id"], row["run"]), (row["workflow_id"], row["workflow_major"])
            )
        assert self.simulation.sent_messages.faults == []
        self._check_versions(history, contacts)
        self._check_places(claims, history)
        self._check_events(claims, events, history, ledger)
        _check_open(claims, contacts)
        _check_once(ledger)
        _check_guards(contacts)
        self._check_received(contacts, ledger)
        self._forget_old_versions()

    def _steps(self, run: Run) -> Sequence[Step]:
        """Return the steps of any version of the run's major; all have the same ids and kinds."""
        workflow_id, major = self.runs[run]
        return next(
            version.definition.steps
            for version in self.simulation.versions.values()
            if (version.workflow_id, version.major) == (workflow_id, major)
        )

    def _check_versions(self, history: Iterable[Any], contacts: Iterable[Any]) -> None:
        """Check that every step ran in the newest minor version of its major, and that every
        contact used the version that was newest when it was sent. A step whose message was sent and
        failed later is not checked."""
        sent_under = defaultdict(set)
        for row in contacts:
            if row["handed_over_at"] is not None:
                key = (row["claim_id"], row["run"], row["step_id"])
                sent_under[key].add(row["version_id"])
        for row in history:
            key = (row["claim_id"], row["run"], row["step_id"])
            if self.history.get(key) != row:
                self.history[key] = row
                newest = self.simulation.current[self.runs[key[:2]]]
                sent = sent_under.get(key, newest)
                newest = sent | newest if row["outcome"] == "SKIPPED" else sent
                assert row["version_id"] in newest, f"{key} ran under an old version"
        self._check_texts()

    def _check_texts(self) -> None:
        sent = self.simulation.sent_messages.sent
        for message in sent[self.seen_messages :]:
            version = self.simulation.versions[read_tag(message.body_text)]
            if message.communication_id not in self.seen_ids:
                newest = self.simulation.current[version.workflow_id, version.major]
                assert version.version_id in newest, f"{message.claim_id} got an old text"
            self.seen_ids.add(message.communication_id)
        self.seen_messages = len(sent)

    def _check_places(self, claims: dict[int, Any], history: Iterable[Any]) -> None:
        """Check that no step is skipped: the executed steps are the first ones, and the claim's
        position is after them or at a WAIT that starts again."""
        ran: dict[Run, set[int]] = defaultdict(set)
        for row in history:
            ran[row["claim_id"], row["run"]].add(row["step_id"])
        for (claim_id, run), done in ran.items():
            steps = self._steps((claim_id, run))
            ids = [step.id for step in steps]
            count = len(done - {ARCHIVING})
            assert done - {ARCHIVING} == set(ids[:count]), f"claim {claim_id} left a step out"
            claim = claims[claim_id]
            if claim["run"] != run:
                continue
            if ARCHIVING in done:
                assert (count, claim["status"]) == (len(ids), "ARCHIVED")
            place = ids.index(claim["next_step_id"]) if claim["next_step_id"] else len(ids)
            starts_again = place == count - 1 and isinstance(steps[place], WaitStep)
            assert place == count or starts_again, f"claim {claim_id} is at {place}, ran {count}"

    def _check_events(
        self,
        claims: dict[int, Any],
        events: Sequence[Any],
        history: Sequence[Any],
        ledger: Sequence[Any],
    ) -> None:
        """Check that sequences have no gap, that each occurrence has one event, and that events are
        in the order of the steps."""
        by_claim: dict[int, list[Any]] = defaultdict(list)
        for row in events:
            by_claim[row["claim_id"]].append(row)
        steps_of = {row["communication_id"]: (row["run"], row["step_id"]) for row in ledger}
        for claim_id, claim in claims.items():
            claim_events = by_claim[claim_id]
            assert [row["sequence"] for row in claim_events] == list(
                range(1, len(claim_events) + 1)
            )
            assert claim["event_sequence"] == len(claim_events)
            for row in claim_events[self.seen_events[claim_id] :]:
                self._note(claim, row, steps_of)
            self.seen_events[claim_id] = len(claim_events)
        for run, claim_events in self.events_by_run.items():
            _check_order(run, claim_events)
        assert Counter(row["type"] for row in events) == self._expected(history, ledger)

    def _note(self, claim: Any, row: Any, steps_of: dict[UUID, tuple[int, int]]) -> None:
        body = msgspec.json.decode(row["body"])
        run = claim["run"]
        if row["type"] == "ARCHIVED":
            self.events_by_run[claim["claim_id"], run].append(("ARCHIVED", 10**6))
            return
        step_id = body["actionStep"]["id"]
        if row["type"] == "ESCALATED":
            run, of_ledger = steps_of[UUID(body["claim"]["communication"]["reference"])]
            assert step_id == of_ledger
        self.events_by_run[claim["claim_id"], run].append((row["type"], step_id))

    def _expected(self, history: Iterable[Any], ledger: Iterable[Any]) -> Counter[str]:
        expected: Counter[str] = Counter()
        for row in history:
            if row["step_id"] == ARCHIVING:
                expected["ARCHIVED"] += 1
            elif row["outcome"] == "DONE":
                steps = self._steps((row["claim_id"], row["run"]))
                kind = next(type(s).__name__ for s in steps if s.id == row["step_id"])
                named = {"FeeStep": "FEE_ADDED", "CheckpointStep": "CHECKPOINT_REACHED"}
                if kind in named:
                    expected[named[kind]] += 1
        for row in ledger:
            if row["outcome"] in ("ACCEPTED", "SETTLED_SENT"):
                expected["ESCALATED"] += 1
        return +expected

    def _check_received(self, contacts: Iterable[Any], ledger: Iterable[Any]) -> None:
        """Check that every contact recorded as made was given to a channel."""
        received = self.simulation.sent_messages.calls
        for row in contacts:
            if row["state"] == "ACCEPTED":
                assert received[row["communication_id"]] > 0
        for row in ledger:
            assert received[row["communication_id"]] > 0, (
                "the ledger has a contact that no channel received"
            )

    def _forget_old_versions(self) -> None:
        numbers = {v.version_id: v.minor for v in self.simulation.versions.values()}
        for key, versions in self.simulation.current.items():
            self.simulation.current[key] = {max(versions, key=lambda each: numbers[each])}


def _check_order(run: Run, events: list[tuple[str, int]]) -> None:
    """Check that steps ascend. The only exception is a second contact of a step: the fallback of
    one that failed later."""
    firsts = list(dict.fromkeys(events))
    repeated = [kind for (kind, _), times in Counter(events).items() if times > 1]
    assert set(repeated) <= {"ESCALATED"}, f"{run} repeats {repeated}"
    steps = [step_id for _, step_id in firsts]
    assert steps == sorted(steps), f"{run}: {events}"


def _check_open(claims: dict[int, Any], contacts: Iterable[Any]) -> None:
    """Check that an active claim is due or waits for exactly one contact, and that an ended claim
    waits for none."""
    standing: Counter[Run] = Counter()
    for row in contacts:
        if row["state"] in _OPEN:
            standing[row["claim_id"], row["run"]] += 1
        if row["state"] == "PLANNED":
            claim = claims[row["claim_id"]]
            assert claim["status"] in _ACTIVE, f"{row['claim_id']} ended and is still contacted"
            assert claim["run"] == row["run"], f"{row['claim_id']} is contacted by an old run"
    for claim in claims.values():
        if claim["status"] in _ACTIVE and claim["run"]:
            waits = standing[claim["claim_id"], claim["run"]]
            expected = 0 if claim["due_at"] else 1
            assert waits == expected, f"{claim['claim_id']}: {waits} contacts, {claim['due_at']}"


def _check_once(ledger: Iterable[Any]) -> None:
    """Check that no contact is accepted twice, and that a step has one accepted contact unless an
    earlier one failed later."""
    accepted: Counter[tuple[Any, ...]] = Counter()
    net: Counter[tuple[Any, ...]] = Counter()
    for row in ledger:
        step = (row["claim_id"], row["run"], row["step_id"])
        if row["outcome"] in ("ACCEPTED", "SETTLED_SENT"):
            accepted[*step, row["place"]] += 1
            net[step] += 1
        elif row["outcome"] == "FAILED_LATER":
            net[step] -= 1
    assert [key for key, times in accepted.items() if times > 1] == []
    assert [key for key, times in net.items() if not 0 <= times <= 1] == []


def _check_guards(contacts: Iterable[Any]) -> None:
    """Check that each address and number has at most one contact a day and three in seven days."""
    days: dict[str, list[date]] = defaultdict(list)
    for row in contacts:
        if row["state"] in _MADE:
            day = row["handed_over_at"].astimezone(_BERLIN).date()
            for identity in (row["email"], row["mobile_number"]):
                if identity:
                    days[identity].append(day)
    for identity, each in days.items():
        assert len(each) == len(set(each)), f"{identity} was contacted twice a day: {each}"
        for day in each:
            week = [other for other in each if day - timedelta(days=7) < other <= day]
            assert len(week) <= 3, f"{identity} was contacted {len(week)} times in a week"
