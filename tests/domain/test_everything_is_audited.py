"""Every change writes a row of the audit log; exceptions are listed with their reasons."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping

import pytest

from dunwell.accounts.merchants import audit_log
from dunwell.accounts.merchants.credentials import credentials, tokens
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment import assign_claims, edit_rules, rules_draft
from dunwell.cases.disputes import answer_dispute, wrong_person
from dunwell.cases.disputes import store as disputes_store
from dunwell.cases.intake import create_claims, create_together
from dunwell.cases.modalities import sweep_modalities
from dunwell.cases.payments import book_movements, record_payment
from dunwell.cases.payments.requests import (
    announce_transfer,
    live_requests,
    start_payment,
)
from dunwell.cases.replies import receive_reply
from dunwell.cases.rollout import publish_workflow, workflow_overviews
from dunwell.cases.rollout.preview import (
    preview_costs,
    preview_draft,
    preview_effects,
    preview_message,
)
from dunwell.cases.rollout.scenarios import switch_to_workflows
from dunwell.cases.rollout.texts import edit_text
from dunwell.cases.rollout.trials import send_trial, simulate, sms_costs, trial_messages
from dunwell.cases.statements.entries import record_entries
from dunwell.cases.statements.entries.interim import confirm_entries
from dunwell.cases.statements.matches import (
    assign_transactions,
    match_transactions,
    record_matches,
)
from dunwell.cases.statements.matches.again import match_again
from dunwell.cases.statements.matches.debits import match_debits
from dunwell.cases.statements.matches.returns import book_returns
from dunwell.contact.escalation import end_claim, engine
from dunwell.contact.escalation.contacts.outcomes import record_outcomes
from dunwell.contact.escalation.reports import delivery_reports
from dunwell.contact.notices import notice_outcomes, send_notice
from dunwell.contact.notices.occasions import notify_debtor
from dunwell.contact.sending import refused_addresses, unmatched
from dunwell.contact.sending.batches.after_restore import unconfirmed_letters
from dunwell.core.claims import claim_holds
from dunwell.core.claims.searching import search_claims
from dunwell.core.events.deliveries import delivery_log, replay
from dunwell.core.events.webhooks import send_test
from dunwell.core.files import uploads
from dunwell.core.workflows.drafts import edit_draft
from dunwell.core.workflows.drafts import edit_draft as save_draft
from dunwell.interfaces.landing.contact_preferences import change_contact
from dunwell.interfaces.landing.disputes import submit_dispute
from dunwell.interfaces.landing.session import lifecycle
from dunwell.interfaces.landing.sign_in import entered_codes
from dunwell.interfaces.portal.disputes import drafts
from dunwell.interfaces.portal.jobs import routes_bulk
from dunwell.interfaces.portal.web import access as claim_access
from dunwell.interfaces.portal.workflows import part_forms, routes_list
from dunwell.operations.alerts import check_alerts as look
from dunwell.operations.dashboards import delivery_providers, print_batches
from dunwell.operations.jobs import jobs
from dunwell.operations.jobs.previews import draft_previews as start_preview
from dunwell.operations.merchant_file import apply_file as apply
from dunwell.operations.merchant_file import apply_file as apply_given
from dunwell.operations.merchant_file import change_settings, open_merchant
from dunwell.operations.merchant_file import make_changes as performing
from dunwell.operations.sandbox import advance_clock
from tests.support.use_cases import (
    find_modules,
    find_use_cases,
    list_definitions,
    list_names,
    name_function,
    name_reasons,
    reach_in_module,
)

# Functions and statements that write.
_WRITERS = re.compile(
    r"^(save|insert|delete|remove|lift|mark|cancel|move|hasten|end|put|store|draw)_"
)
_WRITING = re.compile(r"\b(INSERT INTO|UPDATE \w+\s+SET|DELETE FROM)\b")
_READS = {None, Right.READ_CLAIMS.name, Right.AUDIT.name}

# Use cases without a row, by reason.
_NO_ROW = {
    "The first of two equal requests wrote the row.": (
        lifecycle.reissue_token, lifecycle.reissue_raised_token,
    ),
    "It only reads.": (
        part_forms.check_part,
        look.load_alert_overview,
        delivery_log.list_deliveries, delivery_log.get_delivery_gap_report,
        delivery_log.get_delivery, delivery_log.get_endpoint,
        print_batches.list_doubtful_letters,
        print_batches.get_batch,
        print_batches.list_batches,
        delivery_providers.load_provider_overview,
        jobs.preview_job, start_preview.find_draft_preview,
        credentials.list_credentials,
        credentials.get_rotation,
        apply_given.export_merchant_file,
        apply_given.plan_given_file,
        change_settings.check_settings,
        change_settings.get_settings,
        apply.preview_workflows,
        routes_list.build_first_definition,
        preview_costs.prepare_costs, workflow_overviews.get_draft_overview,
        publish_workflow.plan_publication,
        preview_draft.preview_draft,
        preview_effects.preview_effects,
        preview_message.get_recipient,
        preview_message.prepare_message, switch_to_workflows.preview_switch,
        edit_text.get_workflow_texts,
        send_trial.prepare_trial,
        simulate.prepare_simulation,
        sms_costs.prepare_sms_costs,
        trial_messages.prepare_trial_writer,
        advance_clock.get_test_clock,
        unmatched.list_unmatched,
    ),
    "A use case that it calls writes the row.": (
        edit_rules.edit_rules_draft,
        create_together.ClaimIntake.create,
        start_preview.start_preview,
        entered_codes.send_code,
        change_contact.request_change,
        change_contact.confirm_change,
        change_contact.change_channels,
        change_contact.unsubscribe,
        apply_given.apply_given_file,
        change_settings.save_settings,
        open_merchant.open_merchant,
        performing.make_changes,
        announce_transfer.announce_transfer,
        start_payment.start_payment,
        part_forms.save_part,
        publish_workflow.publish_workflow, match_debits.record_debits,
        edit_text.edit_text, refused_addresses.suppress_refused_addresses,
        assign_transactions.assign_transactions, match_transactions.book_matches,
        match_again.match_entry_again,
    ),
    "Matching, which follows at once, writes the row.": (match_again.match_recent_again,),
    "The use case that calls it writes the row.": (
        assign_claims.start_runs, disputes_store.insert_evidence_files,
        wrong_person.withhold_claim,
        end_claim.end_claim,
        engine.record_decisions,
        record_outcomes.record_answers,
        sweep_modalities.notify_of_progress,
        notify_debtor.notify_debtor, record_payment.collect_if_paid,
        record_payment.allocate_surplus, live_requests.complete_transfer,
        live_requests.find_matching_transfer,
        live_requests.refresh_live_requests,
        edit_draft.save_changed_draft, record_matches.record_matches,
        book_returns.book_return,
        record_entries.record_entries, confirm_entries.confirm_entries,
    ),
    "What a debtor types is no deed until it is sent, which writes the row.": (
        submit_dispute.save_form_draft,
        submit_dispute.delete_draft_files,
        submit_dispute.submit_dispute,
        submit_dispute.send_draft_files,
    ),
    "The installation's own audit log has its row.": (
        unconfirmed_letters.resolve_uncertain_letters,
        unmatched.mark_unmatched_as_seen,
    ),
    "Its SQL, create_claims.sql, writes a row for each request.": (
        create_claims.create_claims,
    ),
    "It writes the rows themselves.": (audit_log.save_audit, audit_log.save_audits),
    "It stores search terms of a claim, whose change wrote a row.": (
        search_claims.replace_search_terms,
    ),
    "It finds the claims of a job; starting the job writes the row.": (
        routes_bulk.select_all,
    ),
}  # fmt: skip


def _list_writers(tree: ast.Module) -> set[str]:
    """Return the names in a module that change rows: store functions and statements."""
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


# Calls of `save_audit` without before and after, by module and function, with the reason.
_SET = "of many claims at once, by a worker: how many; each claim's own rows tell the rest"
_LOOK = "it reads; nothing was there before or after"
_SENT = "something left the installation, and nothing here changed by it"
_VISIT = "a debtor's visit begins, proves more, ends: nothing of the claim"
_TOLD = "whether a message arrived, which its own state tells"
_NO_BEFORE: Mapping[Callable[..., object], str] = {
    claim_holds._expire_holds_of_merchant: _SET,
    answer_dispute.set_hold_after_response: _TOLD,
    engine.Engine._run: _SET,
    delivery_reports.report_failure: _TOLD,
    record_outcomes.record_outcomes: _SET,
    replay.replay_given_up: _SENT,
    replay.replay_events: _SENT,
    send_test.start_test: _SENT,
    send_trial.record_trial: _SENT,
    receive_reply.mark_replies_read: _LOOK,
    receive_reply.receive_reply: "it is new, and a hold it opens tells its own",
    uploads._remove_rows: _SET,
    jobs.open_export: _LOOK,
    lifecycle.end_session: _VISIT,
    lifecycle.open_session: _VISIT,
    lifecycle.raise_level: _VISIT,
    tokens.issue_token: "a token of an hour, as every program asks for one",
    sweep_modalities.set_hold_after_break: _TOLD,
    sweep_modalities._end: _SET,
    send_notice.send_notice: _SENT,
    notice_outcomes.report_notice_failure: _TOLD,
    book_movements._report_for_review: "nothing is booked; a person has to look",
    live_requests.audit_request: "the action says what it is from then on",
    claim_access.open_claim: _LOOK,
    claim_access.record_list_view: _LOOK,
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
    """Return the syntax trees of all modules by name; parsing them takes a second."""
    return dict(find_modules())


def test_each_audit_row_of_a_change_has_before_and_after(
    trees: Mapping[str, ast.Module],
) -> None:
    silent = {
        f"{module}.{name}"
        for module, tree in trees.items()
        for name, call in _list_audits(tree)
        if not _has_either(call)
    }
    assert silent == set(map(name_function, _NO_BEFORE))


# Functions that write their own row, which another row of the module would hide.
_WRITES_ITSELF = (
    rules_draft.replace_draft, drafts.save_draft,
    save_draft.save_draft,
)  # fmt: skip


@pytest.mark.parametrize("begin", _WRITES_ITSELF, ids=name_function)
def test_starting_a_draft_writes_its_own_audit_row(
    trees: Mapping[str, ast.Module], begin: Callable[..., object]
) -> None:
    tree = trees[begin.__module__.removeprefix("dunwell.")]
    assert begin.__qualname__ in {name for name, _ in _list_audits(tree)}


def _writes_a_row(tree: ast.Module, function: str) -> bool:
    reached = reach_in_module(tree, function)
    return any({"save_audit", "save_audits"} & list_names(each) for each in reached)


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
    assert silent == name_reasons(_NO_ROW).keys()


_SEVERAL_USE_CASES = """
from dunwell.core.claims import hold_store
from dunwell.core.claims.store import insert_hold as write_hold

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
def test_each_use_case_of_a_module_is_checked_separately(
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


def test_a_row_without_before_and_after_is_found_among_methods_of_the_same_name() -> None:
    found = {name: _has_either(call) for name, call in _list_audits(ast.parse(_TWO_CLASSES))}
    assert found == {"Notices.end": True, "Holds.end": False}
