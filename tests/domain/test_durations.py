"""Both sides of every duration: just before it is over, and from then on.

Times are written as days and minutes and never as the code's own constants, so that none can be
changed unnoticed. Durations that need a database are in `tests/usecases/test_durations.py`;
durations tested together with their rule are listed in `tests/support/durations_known.py`.
"""

import ast
import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pyotp
import pytest

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import Guards
from dunwell.accounts.users.factors.totp import find_step
from dunwell.adapters.payments.sandbox.checkout import (
    render_checkout_reference,
    render_notification,
    sign_notification,
    verify_notification,
)
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState, may_open_dispute
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.cases.modalities.limits import check_may_request
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.cases.payments.provider import NotificationRejected
from dunwell.cases.rollout.preview.effects import NextContacts, PreviewScope
from dunwell.contact.escalation.contacts.render_leased import render_leased
from dunwell.contact.escalation.due_claim import DueClaim
from dunwell.contact.escalation.forecast.running_claim import RunningClaim, forecast_claim
from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.escalation.schedule import StepFacts, TriedChannels, WorkflowPosition
from dunwell.contact.messages.guards.guards import ContactHold, GuardCandidate, decide_contacts
from dunwell.contact.notices.notice import (
    NoticeKind,
    decide_address_limit,
    decide_expiry,
    decide_limit,
)
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.claims.states import Hold, HoldKind, Status, check_new_hold
from dunwell.core.events.webhooks.retry import FailureHistory, compute_health, schedule_next_probe
from dunwell.interfaces.cli.doctor import check_clocks
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.sign_in.attempt_limits import (
    ProofAttempts,
    add_failure,
    decide_lock,
)
from dunwell.operations.jobs.job import ArchiveAction, compute_retention
from dunwell.operations.recovery.archive import ArchiveStatus, ServerLog, describe_archive
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import InvalidState, Unavailable, ValidationError
from tests.support.definitions import a_definition
from tests.support.durations import JUST, ROOT, DurationBoundary, list_durations
from tests.support.durations_found import find_tests
from tests.support.durations_known import ELSEWHERE
from tests.support.durations_without_rule import NO_RULE

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=400)
ID = UUID(int=7)
ONE_DAY = timedelta(days=1)
_APP = "JBSWY3DPEHPK3PXP" * 2
_KEYS = KeyRing({1: b"k" * 32})
_EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
_PROCESS = prepare_workflow_for_timezone(
    a_definition(steps=[{"id": 1, "name": "One", "send": "IMMEDIATE", **_EMAIL}]),
    "Europe/Berlin",
)


def _is_taken(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except (InvalidState, NotificationRejected, ValidationError):
        return False
    return True


def _a_debtors_hold(since: datetime) -> Hold:
    return Hold(HoldKind.PAUSE, since, since + ONE_DAY, None, ActorKind.DEBTOR)


def _a_debtors_dispute() -> ClaimDispute:
    return ClaimDispute(
        ID, 1, DisputeType.AMOUNT_WRONG, None, None, "ten too much", {}, ID, ActorKind.DEBTOR, NOW,
        DisputeState.WITHDRAWN,
    )  # fmt: skip


def _a_modality() -> Modality:
    return Modality(
        ID, 1, ModalityType.PAYMENT_PLAN, ModalityState.REJECTED, "EUR", 10240, (), 0, NOW,
        ActorKind.DEBTOR, ended_at=NOW,
    )  # fmt: skip


def _is_refused_notice(age: timedelta) -> bool:
    body = render_notification(render_checkout_reference(1, ID))
    headers = sign_notification(_KEYS, "n-1", body, NOW)
    return not _is_taken(lambda: verify_notification(_KEYS, headers, body, NOW + age))


def _can_be_extended(lasts: timedelta) -> bool:
    session = Session(
        1, b"", ID, 1, None, None, Level.LINK, expires_at=NOW + lasts, ended_at=None,
        opened_at=NOW, first_opened_at=NOW,
    )  # fmt: skip
    return session.can_be_extended


def _is_contact_foreseen(until: timedelta) -> bool:
    facts = StepFacts(
        ConditionFacts(outstanding_cents=1, total_cents=1, today=NOW.date()),
        has_reached=False, usable_channels=frozenset({"EMAIL"}),
    )  # fmt: skip
    contacts = NextContacts(_PROCESS, NOW, lambda at, _: at)
    return contacts.find(WorkflowPosition(1, NOW + until), facts) is not None


def _is_claim_foreseen(until: timedelta) -> bool:
    claim = DueClaim(
        claim_id=1, reference_number="A", currency="EUR", status=Status.IN_PROCESS,
        workflow_key=(ID, 1), run=1, position=WorkflowPosition(1, NOW + until), event_sequence=0,
        next_item_position=1, outstanding_cents=1, total_cents=1, first_primary_on=None,
        item_types=frozenset(), custom_fields={}, has_reached=False,
        tried=TriedChannels(frozenset(), 0),
        customer_number=None, date_of_birth=None, language=None, email="a@example.org",
        mobile_number=None, address={}, usable_channels=frozenset({"EMAIL"}),
    )  # fmt: skip
    running = RunningClaim(claim, "a", is_held=False, held_until=None, open_contact=None)
    return any(forecast_claim(_PROCESS, running, NOW, lambda at, _: at))


def _is_day_kept(age: timedelta) -> bool:
    candidate, today = GuardCandidate(ID, (b"anna",)), NOW.date()
    verdict = decide_contacts([candidate], {b"anna": [today - age]}, Guards(), today)
    return today - age in verdict.updated_guards[0].days


def _is_healthy(until: timedelta, based: timedelta = timedelta(0)) -> bool:
    status = ArchiveStatus(1, NOW - based, NOW - until)
    log = ServerLog(LONG_AGO, NOW, 1 << 20, is_failing=False)
    return describe_archive(status, log)[1] is None


def _find_next_try(error: Exception) -> timedelta:
    """Return the delay of the next attempt after rendering failed for this reason."""

    class Failing:
        @property
        def merchant(self) -> object:
            raise error

    step, contact = object(), SimpleNamespace(channel="EMAIL", communication_id=ID, claim_id=1)
    leased: Any = SimpleNamespace(step=step, planned=SimpleNamespace(contact=contact))
    letters: Any = None
    head: Any = Failing()
    [kept_back] = asyncio.run(render_leased(letters, head, [leased], NOW))
    assert isinstance(kept_back, ContactHold)
    return kept_back.not_before - NOW


def _count_together(apart: timedelta) -> int:
    return add_failure(add_failure(ProofAttempts(0, NOW), NOW), NOW + apart).failures


def _lock(wrong: int) -> ProofAttempts:
    tries = ProofAttempts(0, NOW)
    for _ in range(wrong):
        tries = add_failure(tries, NOW)
    return tries


def _judge(first: int, second: int) -> Callable[[timedelta], object]:
    """Return whether an endpoint is still enabled after two such responses, by their distance."""
    one = compute_health(FailureHistory(), first, NOW)
    return lambda apart: compute_health(one, second, NOW + apart).disabled_at is None


def _find_first_probe() -> timedelta | None:
    off = compute_health(compute_health(FailureHistory(), 410, LONG_AGO), 410, NOW)
    return None if off.probe_at is None else off.probe_at - NOW


def _find_last_probe_gap() -> timedelta | None:
    probed = schedule_next_probe(FailureHistory(disabled_at=NOW, probe_at=NOW, probes=99), NOW)
    return None if probed.probe_at is None else probed.probe_at - NOW


EDGES: Mapping[str, DurationBoundary] = {
    "adapters/payments/sandbox/checkout.py _TOLERANCE":
        DurationBoundary(timedelta(minutes=5) + JUST, _is_refused_notice, before=False, after=True),
    "core/claims/states.py _DEBTOR_HOLD_INTERVAL": DurationBoundary(
        timedelta(days=30),
        lambda age: _is_taken(
            lambda: check_new_hold(_a_debtors_hold(NOW + age), [_a_debtors_hold(NOW)])
        ),
        before=False, after=True,
    ),
    "interfaces/cli/doctor.py _MAX_SKEW_SECONDS": DurationBoundary(
        timedelta(seconds=2) + JUST, lambda ahead: not check_clocks(ahead.total_seconds()).is_fault
    ),
    "cases/disputes/dispute.py RECENT_PERIOD": DurationBoundary(
        timedelta(days=30), lambda age: may_open_dispute([_a_debtors_dispute()] * 5, NOW + age),
        before=False, after=True,
    ),
    "contact/escalation/forecast/running_claim.py FORECAST_HORIZON":
        DurationBoundary(timedelta(days=3_650) + JUST, _is_claim_foreseen),
    "core/events/webhooks/retry.py _FAILING_FOR":
        DurationBoundary(timedelta(days=5), _judge(500, 500)),
    "core/events/webhooks/retry.py _GONE_AGAIN_AFTER":
        DurationBoundary(timedelta(hours=1), _judge(410, 410)),
    "interfaces/landing/sign_in/attempt_limits.py DAY": DurationBoundary(
        timedelta(days=1), lambda age: add_failure(_lock(14), NOW + age).day_failures,
        before=15, after=1,
    ),
    "interfaces/landing/sign_in/attempt_limits.py LOCKED_FOR":
        DurationBoundary(
            timedelta(minutes=30), lambda age: decide_lock(_lock(5), NOW + age) is not None
        ),
    "interfaces/landing/sign_in/attempt_limits.py WINDOW":
        DurationBoundary(timedelta(minutes=15), _count_together, before=2, after=1),
    "interfaces/landing/session/session.py MAX_TOTAL_LIFETIME": DurationBoundary(
        timedelta(hours=8), _can_be_extended
    ),
    "contact/messages/guards/guards.py _KEEP_DAYS_FOR": DurationBoundary(
        timedelta(days=8), _is_day_kept, just=ONE_DAY
    ),
    "cases/modalities/limits.py _REQUEST_INTERVAL": DurationBoundary(
        timedelta(days=30),
        lambda age: _is_taken(
            lambda: check_may_request([_a_modality()] * 3, ActorKind.DEBTOR, NOW + age)
        ),
        before=False, after=True,
    ),
    "contact/notices/notice.py HOUR": DurationBoundary(
        timedelta(hours=1), lambda age: decide_limit([NOW] * 5, NOW + age) is not None
    ),
    "contact/notices/notice.py DAY": DurationBoundary(
        timedelta(days=1), lambda age: decide_address_limit([NOW] * 20, NOW + age) is not None
    ),
    # Its own half minute and the next one.
    "accounts/users/factors/totp.py _STEP_SECONDS": DurationBoundary(
        timedelta(seconds=60),
        lambda age: find_step(_APP, pyotp.TOTP(_APP, interval=30).at(NOW), NOW + age) is not None,
    ),
    "operations/recovery/archive.py _MAX_ARCHIVE_DELAY": DurationBoundary(
        timedelta(minutes=5) + JUST, _is_healthy
    ),
    # A week between base backups, and one more day.
    "operations/recovery/archive.py _MAX_BASE_DELAY":
        DurationBoundary(timedelta(days=8) + JUST, lambda age: _is_healthy(timedelta(0), age)),
    "cases/rollout/preview/effects.py MAX_PREVIEW_DAYS": DurationBoundary(
        timedelta(days=366), lambda days: _is_taken(PreviewScope(days.days).check), just=ONE_DAY
    ),
    "cases/rollout/preview/effects.py _FARTHEST":
        DurationBoundary(timedelta(days=3_650) + JUST, _is_contact_foreseen),
}  # fmt: skip
LENGTHS: Mapping[str, tuple[Callable[[], object], object]] = {
    "contact/escalation/contacts/render_leased.py _RETRY_AFTER_OUTAGE":
        (lambda: _find_next_try(Unavailable("away")), timedelta(minutes=1)),
    "contact/escalation/contacts/render_leased.py _RETRY_AFTER_FAULT":
        (lambda: _find_next_try(ValueError("wrong")), timedelta(hours=1)),
    "core/events/webhooks/retry.py _FIRST_PROBE": (_find_first_probe, timedelta(hours=1)),
    "core/events/webhooks/retry.py _MAX_PROBE_DELAY": (_find_last_probe_gap, timedelta(hours=24)),
    "operations/jobs/job.py _RETENTION": (lambda: compute_retention(ArchiveAction()),
    timedelta(days=30)),
    "contact/notices/notice.py _LETTER_SENT_WITHIN": (
        lambda: {decide_expiry(kind, "LETTER", NOW) - NOW for kind in NoticeKind},
        {timedelta(days=3)},
    ),
    "contact/notices/notice.py _SENT_WITHIN": (
        lambda: {str(kind): decide_expiry(kind, "EMAIL", NOW) - NOW for kind in NoticeKind},
        {
            "CODE": timedelta(minutes=10), "LINK": timedelta(hours=1),
            "RECEIPT": timedelta(days=1), "CONFIRMATION": timedelta(days=1),
            "CHANGE_CODE": timedelta(minutes=10), "CHANGE_NOTICE": timedelta(days=3),
            "ANSWER": timedelta(days=1), "REMINDER": timedelta(days=1),
            "OVERDUE": timedelta(days=3),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_each_change_happens_at_its_time_and_not_before(name: str) -> None:
    assert EDGES[name].observe() == (EDGES[name].before, EDGES[name].after)


@pytest.mark.parametrize("name", LENGTHS)
def test_each_documented_duration_matches_the_code(name: str) -> None:
    find, expected = LENGTHS[name]
    assert find() == expected


def test_every_duration_is_tested_or_has_a_reason_why_not() -> None:
    durations = list_durations()
    tried = {name for name in durations if find_tests(name)}
    assert tried & NO_RULE.keys() == set()
    assert durations.keys() == tried | NO_RULE.keys(), "try it on both sides, just before and after"
    assert ELSEWHERE.keys() <= durations.keys()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_each_listed_test_exists_and_does_not_use_the_constant_itself(name: str) -> None:
    constant = name.partition(" ")[2]
    for test in ELSEWHERE[name]:
        path, _, function = test.partition("[")[0].partition("::")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        [found] = [each for each in tree.body if isinstance(each, kinds) and each.name == function]
        taken = {each.id for each in ast.walk(found) if isinstance(each, ast.Name)}
        assert constant not in taken, test


def test_durations_are_found_in_constants_sql_and_functions() -> None:
    """The search finds a constant, a named number, SQL, and a value within a function."""
    found = list_durations().keys()
    assert {
        "core/events/webhooks/retry.py DELAYS",
        "interfaces/landing/sign_in/attempt_limits.py MAX_DELAY_SECONDS",
        "contact/escalation/store.py _POSTPONE",
        "accounts/merchants/store.py sweep_merchant_rows",
    } <= found  # fmt: skip
