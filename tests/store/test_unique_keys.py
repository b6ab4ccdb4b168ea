"""Each unique key is tried with two rows: the same key is refused. A row with another value in any
of its columns is not, nor is a row that the key does not cover."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import asyncpg

from dunwell.platform.database.database import Connection, Database
from tests.support.rows import NOW, insert_row, make_value, without_triggers
from tests.support.two_merchants import drop_checks, rolled_back, undone

_KEYS = """
SELECT t.relname AS table, array(
    SELECT a.attname::text
    FROM unnest(i.indkey::int[]) WITH ORDINALITY AS k (number, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    ORDER BY place) AS columns
FROM pg_index i
JOIN pg_class t ON t.oid = i.indrelid
WHERE i.indisunique AND t.relnamespace = 'public'::regnamespace AND t.relname <> 'schema_migrations'
"""
_TYPES = """
SELECT attname AS name, format_type(atttypid, NULL) AS type
FROM pg_attribute
WHERE attrelid = $1::regclass AND attnum > 0
"""
# For each table the primary key and then the other keys. They begin with merchant_id, which is
# omitted here. ! marks a key across all merchants.
UNIQUE = """
access_tokens            token_hash; ! token_hash
staff_emails              ! email_id
alert_notifications           ! alert_id number; ! alert_id
alert_checks              ! watch
alerts                   ! alert_id; ! kind subject
allocations              claim_id payment_id item_id
bank_accounts            account; iban
bank_entries             entry_id; account entry_key
bank_files               file_id
bank_matches             match_id; undoes
bank_statements          account statement_hash
bank_transactions        entry_id number
response_drafts            dispute_id
response_templates         template_id; name
link_requests              ! link_request_id
assignment_rule_changes  revision
assignment_rule_drafts   -
assignment_rules         version
attachments              claim_id attachment_id
rate_limits                 ! subject_digest
audit_log                audit_id
delivery_reports          ! report_id; ! provider provider_message_id state happened_at
check_codes              message_id
claim_notes              note_id
claim_search             claim_id term
claims                   claim_id; reference_number
link_request_counts            ! visitor_digest window_start
closed_account_failures    ! provider
communication_contents   communication_id
communications           communication_id; claim_id run step_id place
contact_guards           identity_digest
contact_ledger           entry_id; claim_id run step_id place
credential_grants         owner_id credential_id
credential_secrets       credential_id secret_hash
credentials              credential_id; ! client_id; name
letter_codes             code_digest; ! code_digest
pending_contact_changes   claim_id
debit_collections        collection_id; end_to_end_id; modality_id instalment
debit_files              file_id; message_id
debtor_draft_files       session_id subject ticket_id
debtor_drafts            session_id subject
verification_failures        claim_id
debtor_links             token_hash; ! token_hash
debtor_notices           notice_id
debtor_occasions         claim_id occasion subject
debtor_replies           reply_id; provider_message_id
verification_codes        claim_id
debtor_sessions          session_hash; ! session_hash
debtors                  claim_id
deliveries               endpoint_id event_id
delivery_attempts           endpoint_id event_id attempt
dispute_files            dispute_id file_id; dispute_id ticket_id
disputes                 dispute_id
epochs                   ! epoch
event_spans              upto_written_by upto_event_id
events                   event_id; claim_id sequence
authentication_factors                  ! factor_id; ! credential_id; ! user_id
holds                    claim_id hold_id
idempotency_keys         key
inbound_sms              ! inbound_id; ! provider provider_message_id
installation_audit       ! audit_id
installation_revisions   ! revision
installation_seals       ! seal
installation_secrets     ! name
instalments              modality_id number
invitations              ! invitation_hash
item_reductions          claim_id item_id refund_id
items                    claim_id item_id; claim_id run step_id
job_files                job_id part
job_rows                 job_id position; job_id claim_id
jobs                     job_id; live_slot; preview_slot
interrupted_forms               ! user_id address
key_versions             ! version; ! fingerprint
ledger_seals             seal
letter_batch_items       communication_id
letter_batches           ! batch_id
letter_status_files      ! provider name sha256
letter_status_readers    ! provider
recovered_letters            communication_id
provider_debits          collection_id
provider_ids             provider provider_id
provider_mandates    mandate_id; modality_id; ! provider checkout_id; ! provider provider_mandate_id
provider_payouts         provider payout_id; record_id
provider_rate_limits               ! provider
mailbox_positions           ! provider
mandates                 mandate_id; modality_id; ! creditor_id reference
memberships              user_id
merchants                -; ! key
passkey_challenges       ! challenge
payment_modalities       modality_id; claim_id
payment_movements        provider movement_id kind; record_id
payment_refunds          refund_id; provider provider_refund_id; payment_id
payment_requests         request_id; claim_id provider; ! provider provider_reference
payer_accounts           payer_digest claim_id
payments                 payment_id; claim_id transaction_id; request_id
pending_sign_ins           ! sign_in_hash
portal_sessions          ! session_hash; ! session_id
provider_logouts         ! issuer token_hash
recovery_codes           ! user_id code_hash
request_quotas           credential_id minute
restores                 ! restored_at
sandbox_checkouts        checkout_id; request_id
sandbox_movements        movement_id kind; refund_key
scenarios                scenario_id; workflow_id
unconfigured_proxies          ! address
single_sign_on_attempts  ! attempt_hash
step_history             claim_id run step_id
storage_use              -
suppressions             channel address_digest
uploads                  ticket_id
user_identities          ! issuer subject; ! user_id
users                    ! user_id; ! email_key
saved_views                    view_id; user_id list name
webhook_endpoints        endpoint_id; url
workflow_draft_changes   change_id
workflow_previews        job_id
workflow_versions        version_id; workflow_id major minor; workflow_id
workflows                workflow_id; name
letter_code_failures              ! minute
second_factor_failures     ! failure_id
"""
# Keys that cover only some rows: values of a row that is covered, and of one that is not.
PARTIAL_KEYS: Mapping[tuple[str, str], tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    ("alert_notifications", "! alert_id"): ({"phase": "OVER"}, {"phase": "LASTS"}),
    ("alerts", "! kind subject"): ({}, {"ended_at": NOW}),
    ("alerts", "! kind subject, of events"): (
        {"is_event": True, "ended_at": NOW}, {"is_event": False, "ended_at": NOW},
    ),
    ("contact_ledger", "claim_id run step_id place"): (
        {"outcome": "SETTLED_SENT"}, {"outcome": "FAILED_LATER"},
    ),
    # Covers an authenticator app that waits for its first code. Passkeys are not limited.
    ("authentication_factors", "! user_id"): ({"kind": "TOTP"}, {"kind": "PASSKEY"}),
    ("authentication_factors", "! user_id, confirmed"): (
        {"kind": "TOTP", "confirmed_at": NOW}, {"kind": "TOTP", "confirmed_at": None},
    ),
    ("debit_collections", "modality_id instalment"): (
        {"state": "DELIVERED"}, {"state": "CANCELLED"},
    ),
    ("mandates", "modality_id"): ({"state": "ACTIVE"}, {"state": "REVOKED"}),
    ("provider_mandates", "modality_id"): ({"state": "OPEN"}, {"state": "ENDED"}),
    ("jobs", "live_slot"): ({"due_at": NOW}, {"due_at": None}),
    ("jobs", "preview_slot"): ({"due_at": NOW}, {"due_at": None}),
    ("payment_modalities", "claim_id"): ({}, {"ended_at": NOW}),
    ("payment_refunds", "payment_id"): (
        {"state": "CREATED", "attempts": 1}, {"state": "CREATED", "attempts": 0},
    ),
    ("payment_requests", "claim_id provider"): ({"state": "PENDING"}, {"state": "COMPLETED"}),
    ("webhook_endpoints", "url"): ({}, {"removed_at": NOW}),
    ("workflow_versions", "workflow_id major minor"): ({"state": "PUBLISHED"}, {}),
    ("workflow_versions", "workflow_id"): ({"state": "DRAFT"}, {"state": "PUBLISHED"}),
    ("workflow_versions", "workflow_id, of scenarios"): (
        {"state": "SCENARIO"}, {"state": "PUBLISHED"},
    ),
    ("workflows", "name"): ({}, {"deleted_at": NOW}),
}  # fmt: skip


_OF_SCENARIOS = "workflow_id, of scenarios"


def list_keys() -> list[tuple[str, str]]:
    keys = [
        (table, key.strip())
        for table, _, keys in (line.partition(" ") for line in UNIQUE.strip().splitlines())
        for key in keys.split(";")
    ]
    twice = [("alerts", "! kind subject, of events"), ("workflow_versions", _OF_SCENARIOS)]
    return [*keys, *twice]


# Keys whose index has an expression, tried once more with another value of it.
EXPRESSION_KEYS = [("authentication_factors", "! user_id, confirmed")]


def list_columns(key: str) -> list[str]:
    columns = key.partition(",")[0].removeprefix("!").replace("-", "").split()
    return columns if key.startswith("!") else ["merchant_id", *columns]


async def test_a_duplicate_key_is_refused_and_another_key_is_not(database: Database) -> None:
    faults: list[object] = []
    async with rolled_back(database) as tx, without_triggers(tx):
        await drop_checks(tx)
        for table, key in [*list_keys(), *EXPRESSION_KEYS]:
            async with undone(tx):
                faults += [(table, key, fault) async for fault in _find_faults(tx, table, key)]
    assert faults == []


async def _find_faults(tx: Connection, table: str, key: str) -> AsyncIterator[str]:
    columns = list_columns(key)
    covered, not_covered = PARTIAL_KEYS.get((table, key), ({}, {}))
    kinds = {row["name"]: row["type"] for row in await tx.fetch(_TYPES, table)}
    first = {name: make_value(kinds[name], 1) for name in columns}
    await insert_row(tx, table, 1, **{**first, **covered})
    if not await is_refused(tx, table, {**first, **covered}):
        yield "the same key is not refused"
    for name in columns:
        is_unique_overall = name == "merchant_id" and (table, f"! {key}") in list_keys()
        if is_unique_overall:
            continue
        if await is_refused(tx, table, {**first, **covered, name: _make_other(kinds[name])}):
            yield f"refused for another {name}"
    if not_covered and await is_refused(tx, table, {**first, **not_covered}):
        yield "refused for a row that the key does not cover"


def _make_other(kind: str) -> Any:
    is_instant = kind == "timestamp with time zone"
    return NOW + timedelta(minutes=1) if is_instant else make_value(kind, 2)


async def is_refused(tx: Connection, table: str, values: Mapping[str, Any]) -> bool:
    """Return whether a second row with these values of the first one is refused."""
    try:
        async with undone(tx):
            await insert_row(tx, table, 2, **values)
    except asyncpg.UniqueViolationError:
        return True
    return False


async def test_each_unique_key_of_the_database_is_tried(database: Database) -> None:
    async with database.connection() as connection:
        rows = await connection.fetch(_KEYS)
    there = sorted((row["table"], *row["columns"]) for row in rows)
    assert there == sorted((table, *list_columns(key)) for table, key in list_keys())
