"""Answers that an earlier release gave and had not told yet are told by this one, as it would."""

from datetime import date
from uuid import UUID

import asyncpg
import msgspec

from dunwell.cases.disputes.dispute import render_case_number
from dunwell.contact.notices.facts import (
    OCCASIONS,
    DefermentFacts,
    DisputeAnswerFacts,
    OccasionFacts,
    PlanFacts,
    RejectionFacts,
)
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from tests.store.test_migrations import a_database, connected, migrate_to

_IDS = [UUID(int=number) for number in range(1, 6)]
_BEFORE = """
SET session_replication_role = replica;
INSERT INTO merchants (merchant_id, key, name, sandbox, switched_to_workflows, configuration,
                       created_at)
VALUES (1, 'nordwind', 'Nordwind', false, true,
        '{{"disputes": {{"quiet_days_after_answer": 3}}}}', now());
INSERT INTO claims (merchant_id, claim_id, reference_number, currency, status, created_at,
                    updated_at)
SELECT 1, n, 'INV-' || n, 'EUR', 'IN_PROCESS', now(), now() FROM generate_series(6, 8) n;
INSERT INTO disputes (merchant_id, claim_id, dispute_id, type, state, resolution, answers, hold_id,
                      opened_at, resolved_at, actor_kind, is_untold, answer_notice_id)
SELECT 1, 7, id, 'OTHER', 'REJECTED', 'No.', '{{}}', id, now(), now(), 'DEBTOR', is_untold, id
FROM (VALUES ('{0}'::uuid, true), ('{1}', false)) d (id, is_untold);
INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, state, amount_cents,
                                paid_before_cents, deferred_until, requested_at, answered_at,
                                actor_kind, reason, is_untold)
VALUES (1, '{2}', 7, 'PAYMENT_PLAN', 'APPROVED', 300, 0, NULL, now(), now(), 'DEBTOR', NULL, true),
       (1, '{3}', 8, 'PAYMENT_DEFEREMENT', 'APPROVED', 300, 0, '2026-04-01', now(), now(),
        'DEBTOR', NULL, true),
       (1, '{4}', 6, 'PAYMENT_PLAN', 'REJECTED', 300, 0, NULL, now(), now(), 'DEBTOR', 'Too long.',
        true);
INSERT INTO instalments (merchant_id, modality_id, number, due_on, amount_cents)
VALUES (1, '{2}', 1, '2026-04-01', 100), (1, '{2}', 2, '2026-05-01', 200);
RESET session_replication_role
"""


async def test_what_was_not_told_yet_is_to_be_told(postgres: EmbeddedPostgres) -> None:
    async with a_database(postgres) as url:
        await migrate_to(url, "0017")
        async with connected(url) as connection:
            await connection.execute(_BEFORE.format(*_IDS))
        await migrate_to(url)
        async with connected(url) as connection:
            rows = await connection.fetch("SELECT * FROM debtor_occasions ORDER BY subject")
    assert all(row["due_at"] is not None for row in rows)
    assert {(row["subject"], _read(row), row["notice_id"]) for row in rows} == {
        (
            str(_IDS[0]),
            DisputeAnswerFacts(
                "INV-7", render_case_number(_IDS[0]), is_accepted=False, is_closed=False,
                reason="No.", quiet_days=3,
            ),
            _IDS[0],
        ),
        (
            f"{_IDS[2]} APPROVED",
            PlanFacts(
                "INV-7", "EUR", ((date(2026, 4, 1), 100), (date(2026, 5, 1), 200)), 0,
                is_approved=True,
            ),
            None,
        ),
        (
            f"{_IDS[3]} APPROVED",
            DefermentFacts("INV-8", "EUR", 300, date(2026, 4, 1), is_approved=True),
            None,
        ),
        (f"{_IDS[4]} REJECTED", RejectionFacts("INV-6", is_plan=True, reason="Too long."), None),
    }  # fmt: skip


def _read(row: asyncpg.Record) -> OccasionFacts:
    return msgspec.convert(msgspec.json.decode(row["facts"]), OCCASIONS[row["occasion"]])
