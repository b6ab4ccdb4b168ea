"""Faults as changes of source lines. They are planted in a copy of the source, never in the source
itself, and the tests of the promise that they break must fail."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that breaks the promise with this number: in `file`, a path in `src/dunwell`, the
    text `original` is replaced by `planted`. `tests` are the promise's tests, which must fail."""

    promise: int
    name: str
    file: str
    original: str
    planted: str
    tests: Sequence[str]


FAULTS = (
    Fault(
        3, "every other request is acknowledged before its commit",
        "cases/intake/create_together.py",
        "        request = _IntakeRequest(merchant, actor, submissions)\n",
        "        request = _IntakeRequest(merchant, actor, submissions)\n"
        "        self.count = getattr(self, 'count', 0) + 1\n"
        "        if self.count % 2:\n"
        "            answer = self._batcher.ask(merchant.merchant_id, request)\n"
        "            self.begun = asyncio.get_running_loop().create_task(answer)\n"
        "            return [CreationResult(1, each.reference_number) for each in submissions]\n",
        ["tests/controls/test_full_disk.py"],
    ),
    Fault(
        6, "a new id for each try", "core/events/webhooks/delivery.py",
        '"webhook-id": event_id,', '"webhook-id": __import__("uuid").uuid4().hex,',
        ["tests/faults/test_delivery_kill.py"],
    ),
    Fault(
        11, "the key is not locked", "accounts/merchants/store.py",
        "    return is_locked\n", "    return True\n",
        ["tests/api/test_api_idempotency.py"],
    ),
    Fault(
        11, "the key is kept apart from its effect", "interfaces/api/idempotency.py",
        "    await save_response("
        "tx, keyed.merchant_id, keyed.key, response_to_store, now=keyed.now)\n",
        "",
        ["tests/faults/test_idempotency_kill.py"],
    ),
    Fault(
        12, "what may have left is repeated", "contact/escalation/contacts/dispatch.py",
        "if is_repeatable and (merchant.is_sandbox", "if (merchant.is_sandbox",
        ["tests/faults/test_engine_kill.py"],
    ),
    Fault(
        12, "no unique constraint on a step's fee",
        "platform/migrations/0001_baseline/3_core.sql",
        "CREATE UNIQUE INDEX items_one_fee_per_step", "CREATE INDEX items_one_fee_per_step",
        ["tests/store/test_unique_keys.py"],
    ),
    Fault(
        12, "a movement is booked again", "cases/payments/book_movements.py",
        "        if key in stored:\n", "        if False:\n",
        ["tests/usecases/test_book_movements.py"],
    ),
    Fault(
        12, "two refunds of a payment are sent at once", "cases/payments/refunds/store.py",
        "o.refund_id <> d.refund_id AND o.state = 'CREATED'",
        "o.refund_id <> d.refund_id AND o.state = 'NONE'",
        ["tests/usecases/test_refunds_in_turn.py"],
    ),
    Fault(
        12, "two clerks refund more than was paid", "cases/payments/refunds/refund_payment.py",
        "    await lock_claim_of_merchant(work, claim_id)\n", "",
        ["tests/usecases/test_refunds_in_turn.py"],
    ),
    Fault(
        12, "a payment is started through a closed account",
        "cases/payments/requests/start_payment.py",
        "provider is None or provider.is_closed or", "provider is None or",
        ["tests/usecases/test_closed_accounts.py"],
    ),
    Fault(
        12, "an instalment can have two debits", "platform/migrations/0007_direct_debit.sql",
        "CREATE UNIQUE INDEX debit_collections_once", "CREATE INDEX debit_collections_once",
        ["tests/usecases/test_direct_debits.py"],
    ),
    Fault(
        12, "a cancellation overtakes the order that is under way",
        "cases/direct_debit/provider_records/store.py",
        "next_attempt_at = coalesce(next_attempt_at, $4)", "next_attempt_at = $4",
        ["tests/usecases/test_interrupted_debit_orders.py"],
    ),
    Fault(
        12, "a late cancellation is forgotten",
        "cases/direct_debit/provider_records/store.py",
        "CASE WHEN cancel_reason IS NOT DISTINCT FROM $3 THEN NULL",
        "CASE WHEN $3::text IS NOT DISTINCT FROM $3 THEN NULL",
        ["tests/usecases/test_interrupted_debit_orders.py"],
    ),
    Fault(
        12, "an order without an answer counts as refused",
        "cases/direct_debit/providers/collect_debits.py",
        "        return await provider.find_collection("
        "debit.provider_mandate_id, debit.collection_id)\n",
        "        return None\n",
        ["tests/usecases/test_interrupted_debit_orders.py"],
    ),
    Fault(
        12, "a file for the bank is delivered again",
        "cases/direct_debit/files/deliver_files.py",
        "    if file.handed_over_at is None:\n        async with",
        "    if file.file_id:\n        async with",
        ["tests/usecases/test_deliver_files.py"],
    ),
    Fault(
        12, "a file that a user has passed on to the bank is delivered too",
        "cases/direct_debit/files/release_debits.py",
        "RELEASED and file.handed_over_at is None:\n        await save_delivered",
        "RELEASED and file.deliver_to is None:\n        await save_delivered",
        ["tests/usecases/test_deliver_files.py"],
    ),
    Fault(
        12, "a returned debit is not missed", "cases/direct_debit/debit_results.py",
        "returned_on=today\n", "returned_on=collection.due_on\n",
        ["tests/usecases/test_direct_debits.py"],
    ),
    Fault(
        12, "the contacts of a paid claim stay planned", "cases/payments/record_payment.py",
        "    if statuses[0] is Status.COLLECTED:\n", "    if statuses[0] is None:\n",
        ["tests/engine/test_paid_in_time.py"],
    ),
    Fault(
        13, "timers that a standstill forgets", "contact/escalation/schedule.py",
        "        return FeeAdded(step)\n",
        "        if (now - due_at).days > 1:\n"
        "            return Skipped(step, SkipReason.TOO_LATE)\n"
        "        return FeeAdded(step)\n",
        ["tests/life/test_downtime_life.py"],
    ),
    Fault(
        15, "the decimals of an amount are cut off", "cases/statements/formats/amounts.py",
        "    if len(minor) > digits:\n", "    if len(minor := minor[:digits]) > digits:\n",
        ["tests/statements/formats/test_amounts.py"],
    ),
    Fault(
        15, "two equal payments of a day are one", "cases/statements/formats/entry_keys.py",
        "        seen[identity] += 1\n", "",
        ["tests/statements/formats/test_entry_keys.py"],
    ),
    Fault(
        15, "a reference that is used again is the same entry",
        "cases/statements/formats/entry_keys.py",
        '["reference", *account, day, entry', '["reference", *account, entry',
        ["tests/statements/formats/test_repeated_entries.py"],
    ),
    Fault(
        15, "what may be the same payment is booked",
        "cases/statements/formats/repeated_entries.py",
        "resembles_on=_find_nearest(entry, others),", "resembles_on=None,",
        ["tests/statements/formats/test_repeated_entries.py"],
    ),
    Fault(
        15, "details that come before their statement are lost",
        "cases/statements/entries/record_entries.py",
        "        await recorder.use_notified(new)\n", "",
        ["tests/usecases/test_repeated_references.py"],
    ),
    Fault(
        15, "the entry of a reversed payment stays matched",
        "cases/statements/matches/assign_transactions.py",
        "    if recorded.is_new:\n", "    if recorded is None:\n",
        ["tests/usecases/test_undo_matches.py"],
    ),
    Fault(
        16, "one check of the merchant is missing", "cases/disputes/store.py",
        "WHERE merchant_id = $1 AND", "WHERE $1::integer > 0 AND",
        ["tests/api/test_api_isolation.py", "tests/store/test_two_merchants.py"],
    ),
    Fault(
        18, "looking at a link opens it", "interfaces/landing/sign_in/routes.py",
        "    return (\n        _answer_dead_link(site, request) if access is None"
        " else _answer_link(site, request, access)\n    )\n",
        "    if access is None:\n        return _answer_dead_link(site, request)\n"
        "    context = _build_context(site, request, access)\n"
        "    return await _open_claim(\n"
        "        site, request, context=context, access=access, level=access.level\n    )\n",
        ["tests/api/test_landing_attacks.py", "tests/api/test_landing_entry.py"],
    ),
    Fault(
        18, "wrong codes slow nobody", "interfaces/landing/sign_in/attempt_limits.py",
        "def compute_delay(",
        "def compute_delay(*_: object) -> None:\n    return None\n\n\ndef _unused(",
        ["tests/api/test_landing_entry_attacks.py", "tests/api/test_landing_limits.py"],
    ),
    Fault(
        20, "a body is logged", "cases/intake/create_claims.py",
        "    results = await _reject_unusable(work, submissions)\n",
        "    print(submissions)\n    results = await _reject_unusable(work, submissions)\n",
        ["tests/controls/test_no_secrets_in_output.py"],
    ),
    Fault(
        19, "a file is what its sender says it is", "core/files/cleaning.py",
        "    content_type = _find_content_type(content)\n",
        "    content_type = _find_content_type(content)\n"
        "    if content_type is not None:\n        return CleanFile(content_type, content)\n",
        ["tests/api/test_api_hostile_files.py"],
    ),
)  # fmt: skip


def plant(fault: Fault, folder: Path) -> None:
    """Make a copy of the source that contains the fault."""
    shutil.copytree(ROOT / "src" / "dunwell", folder / "dunwell")
    path = folder / "dunwell" / fault.file
    text = path.read_text("utf-8")
    assert text.count(fault.original) >= 1, f"{fault.file} has changed: plant another line"
    path.write_text(text.replace(fault.original, fault.planted, 1), "utf-8")


def run_tests(tests: Sequence[str], source: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests in another process with the source from this folder."""
    own = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    # Uses another temporary folder, because pytest removes the folders of older runs, such as the
    # one that contains the source.
    with tempfile.TemporaryDirectory(prefix="controls-") as folders:
        Path(folders).chmod(0o755)
        environment = {
            **own, "PYTHONPATH": f"{source}:{ROOT}", "PYTEST_DEBUG_TEMPROOT": folders,
        }  # fmt: skip
        return subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                "-p", "no:xdist", "-o", f"pythonpath={source} {ROOT}", *tests,
            ],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
