"""Whatever changes something writes a row of the audit log; exceptions are named, each with why."""

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from dunwell.accounts.merchants.rights import Right
from tests.support.use_cases import (
    find_modules,
    find_use_cases,
    list_definitions,
    list_names,
    reach_in_module,
)

# What stores call what writes, and statements that do.
_WRITERS = re.compile(
    r"^(save|insert|delete|remove|lift|mark|cancel|move|hasten|end|put|store|draw)_"
)
_WRITING = re.compile(r"\b(INSERT INTO|UPDATE \w+\s+SET|DELETE FROM)\b")
_READS = {None, Right.READ_CLAIMS.name, Right.AUDIT.name}

# Use cases without a row by why.
_NO_ROW = {
    "The first of two equal requests wrote the row.": (
        "interfaces.landing.session.open_session.repeat_opening",
    ),
    "It only reads.": (
        "interfaces.portal.processes.parts_shown.check_part",
        "operations.alerts.read_alarms.read_alarms",
        "core.events.read_log.list_deliveries", "core.events.read_log.prove_deliveries",
        "core.events.read_log.read_delivery", "core.events.read_log.read_endpoint",
        "operations.explanation.read_letter_batches.read_asked_letters",
        "operations.explanation.read_letter_batches.read_batch",
        "operations.explanation.read_letter_batches.read_batches",
        "operations.explanation.read_lines.read_lines",
        "operations.jobs.start_job.preview_job", "operations.jobs.start_preview.read_preview",
        "accounts.merchants.credentials.list_credentials",
        "accounts.merchants.credentials.read_rotation",
        "operations.onboarding.apply_given.export_file",
        "operations.onboarding.apply_given.plan_given",
        "operations.onboarding.change_settings.check_settings",
        "operations.onboarding.change_settings.read_settings",
        "operations.onboarding.preview_workflows.preview_workflows",
        "interfaces.portal.processes.beginning.begin_definition",
        "interfaces.portal.processes.parts_shown.check_part",
        "cases.rollout.foresee_costs.prepare_costs", "cases.rollout.look_at_draft.look_at_draft",
        "cases.rollout.plan_publication.plan_publication",
        "cases.rollout.preview_draft.preview_draft",
        "cases.rollout.preview_effects.preview_effects",
        "cases.rollout.preview_message.find_reader",
        "cases.rollout.preview_message.prepare_message", "cases.rollout.switch.preview_switch",
        "cases.rollout.texts.open_texts.open_texts",
        "cases.rollout.trials.send_trial.prepare_trial",
        "cases.rollout.trials.simulate.prepare_simulation",
        "cases.rollout.trials.sms_costs.prepare_sms_costs",
        "cases.rollout.trials.writing.open_trial",
        "operations.sandbox.advance_clock.read_clock",
        "contact.sending.look_at_unplaced.list_unplaced",
    ),
    "A use case that it calls writes the row.": (
        "cases.assignment.edit_rules.edit_rules_draft",
        "cases.assignment.rules_draft.publish_rules_draft",
        "core.claims.pause_claim.pause_claim", "core.claims.pause_claim.resume_claim",
        "cases.intake.create_together.ClaimIntake.create",
        "operations.jobs.start_preview.start_preview",
        "interfaces.landing.entering.send_code.send_code",
        "interfaces.landing.reaching.change_address.ask_change",
        "interfaces.landing.reaching.change_address.confirm_change",
        "interfaces.landing.reaching.choose_channels.choose_channels",
        "interfaces.landing.reaching.choose_channels.unsubscribe",
        "operations.onboarding.apply_given.apply_given",
        "operations.onboarding.change_settings.save_settings",
        "operations.onboarding.open_merchant.open_merchant",
        "operations.onboarding.performing.perform_changes",
        "cases.payments.announce_transfer.announce_transfer",
        "cases.payments.start_payment.start_payment",
        "interfaces.portal.processes.parts_shown.save_part",
        "cases.rollout.publish_workflow.publish_workflow",
        "cases.rollout.texts.edit_text.edit_text", "contact.sending.heed_refusals.heed_refusals",
        "core.workflows.arrange_steps.add_step", "core.workflows.arrange_steps.double_step",
        "core.workflows.arrange_steps.move_step", "core.workflows.arrange_steps.shift_step",
    ),
    "The use case that calls it writes the row.": (
        "cases.assignment.start_runs.start_runs", "cases.disputes.evidence_store.save_evidence",
        "cases.disputes.withheld.withhold_claim",
        "contact.escalation.end_claim.end_claim",
        "contact.escalation.record_decisions.record_decisions",
        "contact.escalation.settle_contacts.record_answers",
        "cases.modalities.tell_plan.tell_plans",
        "contact.notices.tell_debtor.tell_debtor", "cases.payments.balancing.collect_if_paid",
        "cases.payments.balancing.use_surplus", "cases.payments.expire_transfer.complete_transfer",
        "cases.payments.expire_transfer.find_arrived",
        "cases.payments.expire_transfer.load_awaited_requests",
        "core.workflows.record_changes.store_changed_draft",
    ),
    "What a debtor types is no deed until it is sent, which writes the row.": (
        "interfaces.landing.objecting.keep_draft.keep_draft",
        "interfaces.landing.objecting.send_drafted.drop_draft_files",
        "interfaces.landing.objecting.send_drafted.send_dispute",
        "interfaces.landing.objecting.send_drafted.send_draft_files",
    ),
    "The installation's own audit log has its row.": (
        "contact.sending.batches.settle_doubted.settle_doubted",
        "contact.sending.look_at_unplaced.look_at_unplaced",
    ),
    "Its SQL, create_claims.sql, writes a row for each request.": (
        "cases.intake.create_claims.create_claims",
    ),
    "It writes the rows themselves.": ("accounts.merchants.audit.save_audit",),
    "It stores search terms of a claim, whose change wrote a row.": (
        "core.claims.searching.fill_search.replace_terms",
    ),
    "It finds the claims of a job; starting the job writes the row.": (
        "interfaces.portal.jobs.bulk.select_all",
    ),
}  # fmt: skip


def _list_writers(tree: ast.Module) -> set[str]:
    """The names in a module that change rows: functions of stores, and statements."""
    stores, imported = set(), set()
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):
            is_store = "store" in (each.module or "").rpartition(".")[2]
            for name in each.names:
                known_as = name.asname or name.name
                if is_store and _WRITERS.match(name.name):
                    imported.add(known_as)
                elif "store" in name.name:
                    stores.add(known_as)
    called_by_module = {
        each.attr
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id in stores
        and _WRITERS.match(each.attr)
    }
    statements = {
        ast.unparse(target)
        for each in tree.body
        if isinstance(each, ast.Assign) and _has_writing_statement(each.value)
        for target in each.targets
    }
    return imported | called_by_module | statements


def _has_writing_statement(tree: ast.AST) -> bool:
    texts = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
    return any(isinstance(each, str) and _WRITING.search(each) for each in texts)


# Calls of `save_audit` without before and after, by their module and the function; why.
_SET = "of many claims at once, by a worker: how many; each claim's own rows tell the rest"
_LOOK = "it reads; nothing was there before or after"
_SENT = "something left the house, and nothing here changed by it"
_VISIT = "a debtor's visit begins, proves more, ends: nothing of the claim"
_TOLD = "whether a message arrived, which its own state tells"
_NO_BEFORE = {
    "core.claims.expire_holds._expire_for": _SET,
    "cases.disputes.rest_after_answer.rest_after_answer": _TOLD,
    "contact.escalation.engine.Engine._run": _SET,
    "contact.escalation.report_failure.report_failure": _TOLD,
    "contact.escalation.settle_contacts.settle_contacts": _SET,
    "core.events.replay_deliveries.replay_given_up": _SENT,
    "core.events.replay_events.replay_events": _SENT,
    "core.events.send_test.begin_test": _SENT,
    "cases.rollout.trials.send_trial.begin_trial": _SENT,
    "cases.replies.take_reply.see_replies": _LOOK,
    "cases.replies.take_reply.take_reply": "it is new, and a hold it opens tells its own",
    "core.files.remove_unused_uploads._remove_rows": _SET,
    "operations.jobs.read_export.open_export": _LOOK,
    "interfaces.landing.session.extend_session.end_session": _VISIT,
    "interfaces.landing.session.open_session.open_session": _VISIT,
    "interfaces.landing.session.raise_session.raise_session": _VISIT,
    "accounts.merchants.tokens.issue_token": "a token of an hour, as every program asks for one",
    "cases.modalities.rest_after_break.rest_after_break": _TOLD,
    "cases.modalities.sweep_modalities._end": _SET,
    "contact.notices.send_notice.send_notice": _SENT,
    "contact.notices.settled.report_notice_failure": _TOLD,
    "cases.payments.book_answer._report_mismatch": "nothing is booked; a person has to look",
    "cases.payments.take_request.audit_request": "the action says what it is from then on",
    "interfaces.portal.web.looking.look_at_claim": _LOOK,
    "interfaces.portal.web.looking.note_list": _LOOK,
}


def _list_audits(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for name, function in list_definitions(tree):
        for each in ast.walk(function):
            if isinstance(each, ast.Call) and ast.unparse(each.func) == "save_audit":
                yield name, each


def _has_either(call: ast.Call) -> bool:
    given = {each.arg: each.value for each in call.keywords}
    sides = [given[name] for name in ("before", "after") if name in given]
    return any(ast.unparse(each) != "None" for each in sides)


@pytest.fixture(scope="module")
def trees() -> Mapping[str, ast.Module]:
    """The syntax trees of all modules, by name; parsing them takes a second."""
    return dict(find_modules())


def test_what_changes_something_says_what_was_before_and_after(
    trees: Mapping[str, ast.Module],
) -> None:
    silent = {
        f"{module}.{name}"
        for module, tree in trees.items()
        for name, call in _list_audits(tree)
        if not _has_either(call)
    }
    assert silent == set(_NO_BEFORE)


# Functions that write what a person began, which a module with another row would hide.
_WRITES_ITSELF = (
    "cases.assignment.rules_draft.keep_draft", "interfaces.portal.disputes.drafts.save_draft",
    "core.workflows.save_draft.save_draft",
)  # fmt: skip


@pytest.mark.parametrize("name", _WRITES_ITSELF)
def test_a_draft_that_is_begun_writes_a_row_of_its_own(
    trees: Mapping[str, ast.Module], name: str
) -> None:
    module, _, function = name.rpartition(".")
    assert function in {name for name, _ in _list_audits(trees[module])}


def _writes_a_row(tree: ast.Module, function: str) -> bool:
    reached = reach_in_module(tree, function)
    return any("save_audit" in list_names(each) for each in reached)


def _changes_something(tree: ast.Module, function: str) -> bool:
    reached = reach_in_module(tree, function)
    used = set().union(*map(list_names, reached))
    return bool(used & _list_writers(tree)) or any(map(_has_writing_statement, reached))


def test_each_use_case_that_changes_something_writes_its_audit_row(
    trees: Mapping[str, ast.Module],
) -> None:
    silent = {
        each.name
        for each in find_use_cases()
        if (each.right not in _READS or _changes_something(trees[each.module], each.function))
        and not _writes_a_row(trees[each.module], each.function)
    }
    assert silent == {name for names in _NO_ROW.values() for name in names}


_SEVERAL_USE_CASES = """
from dunwell.core.claims import hold_store
from dunwell.core.claims.store_holds import insert_hold as write_hold

_END = "UPDATE holds SET ended_at = $1"

async def pause(work: Work) -> None:
    await _write(work)
    await save_audit(work)

async def resume(work: Work) -> None:
    await _write(work)

async def look(work: Work) -> None:
    await hold_store.find_hold(work)

async def end(work: Work) -> None:
    await hold_store.end_hold(work)

async def end_all(work: Work) -> None:
    await work.execute(_END)

class Holds:
    async def end(self, work: Work) -> None:
        await work.execute("DELETE FROM holds")

async def _write(work: Work) -> None:
    await write_hold(work)
"""


@pytest.mark.parametrize(
    ("function", "changes", "writes_a_row"),
    [
        ("pause", True, True), ("resume", True, False), ("look", False, False),
        ("end", True, False), ("end_all", True, False), ("Holds.end", True, False),
    ],
)  # fmt: skip
def test_each_use_case_of_a_module_is_judged_by_itself(
    function: str, *, changes: bool, writes_a_row: bool
) -> None:
    tree = ast.parse(_SEVERAL_USE_CASES)
    assert _changes_something(tree, function) is changes
    assert _writes_a_row(tree, function) is writes_a_row


_TWO_CLASSES = """
class Notices:
    async def end(self) -> None:
        await save_audit(self, before={}, after={})

class Holds:
    async def end(self) -> None:
        await save_audit(self)
"""


def test_a_row_without_before_and_after_is_seen_beside_a_method_of_the_same_name() -> None:
    found = {name: _has_either(call) for name, call in _list_audits(ast.parse(_TWO_CLASSES))}
    assert found == {"Notices.end": True, "Holds.end": False}
