"""Whatever changes something writes a row of the audit log; exceptions are named, each with why."""

import ast
import re

from dunwell.merchants.rights import Right
from tests.support.use_cases import find_modules, find_use_cases

# What stores call what writes, and statements that do.
_WRITERS = re.compile(
    r"^(save|insert|delete|remove|lift|mark|cancel|move|hasten|end|put|store|draw)_"
)
_WRITING = re.compile(r"\b(INSERT INTO|UPDATE \w+\s+SET|DELETE FROM)\b")
_READS = {None, Right.READ_CLAIMS.name, Right.AUDIT.name}

_PART = "a part of a use case that writes the row"
_CALLS = "a use case within it writes the row"
_TYPED = "what a debtor types and has not sent is nobody's deed; sending it writes the row"
_NO_ROW = {
    "assignment.start_runs": _PART,
    "claims.pause_claim": _CALLS,
    "claims.reopen_hold": "that a message did not arrive writes the row, and a new hold its own",
    "claims.searching.fill_search": "words drawn from a claim's data, whose change writes the row",
    "disputes.evidence_store": _PART,
    "escalation.record_decisions": _PART,
    "intake.create_claims": "create_claims.sql writes a row for each request",
    "intake.create_together": _CALLS,
    "landing.entering.send_code": _CALLS,
    "landing.objecting.keep_draft": _TYPED,
    "landing.objecting.send_dispute": _CALLS,
    # Files it sends are rows of the use case it calls; those it drops were never sent.
    "landing.objecting.send_kept": _TYPED,
    "landing.reaching.change_address": _CALLS,
    "landing.reaching.choose_channels": _CALLS,
    "modalities.tell_plan": _PART,
    "notices.tell_debtor": _PART,
    "payments.announce_transfer": _CALLS,
    "portal.jobs.bulk": "it finds the claims a job is for; starting the job writes the row",
    "payments.balancing": _PART,
    "payments.expire_transfer": _PART,
    "payments.start_payment": _CALLS,
    "rollout.publish_workflow": _CALLS,
    "onboarding.preview_workflows": "it changes nothing",
    "rollout.plan_publication": "it changes nothing",
    "rollout.preview_draft": "it changes nothing",
    "rollout.preview_effects": "it changes nothing",
    "rollout.preview_message": "it changes nothing",
}


def _writes(tree: ast.Module) -> bool:
    imported = [
        name.name
        for each in ast.walk(tree)
        if isinstance(each, ast.ImportFrom) and "store" in (each.module or "")
        for name in each.names
    ]
    texts = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    statements = [each for each in texts if isinstance(each, str) and _WRITING.search(each)]
    return bool(statements) or any(_WRITERS.match(each) for each in imported)


def test_what_changes_something_writes_a_row_of_the_audit_log() -> None:
    use_cases = find_use_cases()
    changing = {each.module for each in use_cases if each.right not in _READS}
    taking_work = {each.module for each in use_cases}
    silent = {
        module
        for module, tree in find_modules()
        if module in changing or (module in taking_work and _writes(tree))
        if "save_audit(" not in ast.unparse(tree)
    }
    assert silent == set(_NO_ROW)
