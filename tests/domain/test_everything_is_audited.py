"""Whatever changes something writes a row of the audit log; exceptions are named, each with why."""

import ast
import re
from collections.abc import Iterator

import pytest

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
    "assignment.edit_rules": "keeping the draft writes the row",
    "alarms.read_alarms": "it changes nothing",
    "assignment.start_runs": _PART,
    "claims.pause_claim": _CALLS,
    "claims.searching.fill_search": "words drawn from a claim's data, whose change writes the row",
    "disputes.evidence_store": _PART,
    "events.read_log": "it changes nothing",
    "explanation.read_letter_batches": "it changes nothing",
    "explanation.read_lines": "it changes nothing",
    "escalation.record_decisions": _PART,
    "intake.create_claims": "create_claims.sql writes a row for each request",
    "intake.create_together": _CALLS,
    "landing.entering.send_code": _CALLS,
    "landing.objecting.keep_draft": _TYPED,
    # What it sends are rows of the use cases it calls; files it drops were never sent.
    "landing.objecting.send_drafted": _TYPED,
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
    "sending.heed_refusals": _CALLS,
    "sending.look_at_unplaced": "of no merchant: the installation's audit log tells of it",
    "sending.batches.settle_doubted": "of all merchants: a row of the installation's log",
    "jobs.start_preview": _CALLS,
    "portal.processes.beginning": "it changes nothing",
    "portal.processes.parts_shown": _CALLS,
    "rollout.look_at_draft": "it changes nothing",
    "workflows.arrange_steps": _CALLS,
    "workflows.record_changes": _PART,
    "onboarding.apply_given": _CALLS,
    "onboarding.change_settings": _CALLS,
    "onboarding.open_merchant": _CALLS,
    "onboarding.performing": _CALLS,
    "onboarding.preview_workflows": "it changes nothing",
    "rollout.foresee_costs": "it changes nothing",
    "rollout.plan_publication": "it changes nothing",
    "rollout.preview_draft": "it changes nothing",
    "rollout.preview_effects": "it changes nothing",
    "rollout.preview_message": "it changes nothing",
    "rollout.texts.edit_text": _CALLS,
    "rollout.texts.open_texts": "it changes nothing",
    "rollout.trials.simulate": "it changes nothing",
    "rollout.trials.sms_costs": "it changes nothing",
    "rollout.trials.writing": "it changes nothing",
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


# Calls of `save_audit` without before and after, by their module and the function; why.
_SET = "of many claims at once, by a worker: how many; each claim's own rows tell the rest"
_LOOK = "it reads; nothing was there before or after"
_SENT = "something left the house, and nothing here changed by it"
_VISIT = "a debtor's visit begins, proves more, ends: nothing of the claim"
_TOLD = "whether a message arrived, which its own state tells"
_NO_BEFORE = {
    "claims.expire_holds._expire_for": _SET,
    "disputes.rest_after_answer.rest_after_answer": _TOLD,
    "escalation.engine._run": _SET,
    "escalation.report_failure.report_failure": _TOLD,
    "escalation.settle_contacts.settle_contacts": _SET,
    "events.replay_deliveries.replay_given_up": _SENT,
    "events.replay_events.replay_events": _SENT,
    "events.send_test.begin_test": _SENT,
    "rollout.trials.send_trial.begin_trial": _SENT,
    "replies.take_reply.see_replies": _LOOK,
    "replies.take_reply.take_reply": "it is new, and a hold it opens tells its own",
    "files.remove_unused_uploads._remove_rows": _SET,
    "jobs.read_export.open_export": _LOOK,
    "landing.session.extend_session.end_session": _VISIT,
    "landing.session.open_session.open_session": _VISIT,
    "landing.session.raise_session.raise_session": _VISIT,
    "merchants.tokens.issue_token": "a token of an hour, as every program asks for one",
    "modalities.rest_after_break.rest_after_break": _TOLD,
    "modalities.sweep_modalities._end": _SET,
    "notices.send_notice.send_notice": _SENT,
    "notices.settled.report_notice_failure": _TOLD,
    "payments.book_answer._report_mismatch": "nothing is booked; a person has to look",
    "payments.take_request.audit_request": "the action says what it is from then on",
    "portal.web.looking.look_at_claim": _LOOK,
    "portal.web.looking.note_list": _LOOK,
}


def _list_audits(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            for each in ast.walk(function):
                if isinstance(each, ast.Call) and ast.unparse(each.func) == "save_audit":
                    yield function.name, each


def _has_either(call: ast.Call) -> bool:
    given = {each.arg: each.value for each in call.keywords}
    sides = [given[name] for name in ("before", "after") if name in given]
    return any(ast.unparse(each) != "None" for each in sides)


def test_what_changes_something_says_what_was_before_and_after() -> None:
    silent = {
        f"{module}.{name}"
        for module, tree in find_modules()
        for name, call in _list_audits(tree)
        if not _has_either(call)
    }
    assert silent == set(_NO_BEFORE)


# Functions that write what a person began, which a module with another row would hide.
_WRITES_ITSELF = (
    "assignment.rules_draft.keep_draft", "portal.disputes.drafts.save_draft",
    "workflows.save_draft.save_draft",
)  # fmt: skip


@pytest.mark.parametrize("name", _WRITES_ITSELF)
def test_a_draft_that_is_begun_writes_a_row_of_its_own(name: str) -> None:
    module, _, function = name.rpartition(".")
    [tree] = [tree for each, tree in find_modules() if each == module]
    assert function in {name for name, _ in _list_audits(tree)}


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
