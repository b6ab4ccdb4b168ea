"""Finds every use case in the source: a public asynchronous function that takes a `Work`, or an
`Actor` if it opens its transactions itself."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path

import dunwell
from dunwell.accounts.merchants import audit_log
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.users import passwords
from dunwell.cases.assignment import assign_claims
from dunwell.cases.direct_debit import mandates, plan_collections
from dunwell.cases.disputes import answer_dispute, wrong_person
from dunwell.cases.disputes import store as disputes_store
from dunwell.cases.intake import create_claims, starts
from dunwell.cases.modalities import answer_modality, sweep_modalities
from dunwell.cases.payments import record_payment, reversals, review_money
from dunwell.cases.payments.bookings import book_payments
from dunwell.cases.payments.refunds import refund_payment
from dunwell.cases.payments.requests import collected_instalments, live_requests
from dunwell.cases.payments.requests import store as requests_store
from dunwell.cases.rollout import delete_workflow, publish_workflow
from dunwell.contact.escalation import change_attachments, end_claim, engine
from dunwell.contact.escalation.contacts.outcomes import record_outcomes
from dunwell.contact.notices import notice_outcomes, send_notice
from dunwell.contact.notices.occasions import notify_debtor
from dunwell.core.claims import access, claim_holds, publish_event
from dunwell.core.claims.searching import search_claims
from dunwell.core.workflows import change_workflow
from dunwell.operations.claim_status import explain_claim
from dunwell.operations.jobs import claim_jobs as act
from dunwell.operations.jobs import exported_lists, runner
from dunwell.operations.merchant_file import open_merchant

SOURCE = Path(dunwell.__file__).parent
_GIVEN = {"Work", "Actor"}


@dataclass(frozen=True)
class UseCase:
    module: str
    # The name of the function; for a method, with its class before it.
    function: str
    right: str | None

    @property
    def name(self) -> str:
        return f"{self.module}.{self.function}"


@cache
def find_use_cases() -> Sequence[UseCase]:
    """Cached, because parsing the source takes most of a second. Modules that name neither
    parameter type are not parsed."""
    return tuple(
        UseCase(module, function, _find_right(each))
        for module, tree in find_modules(_GIVEN)
        for function, each in _list_functions(tree)
    )


def find_modules(words: Collection[str] = ("",)) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules whose text contains one of the words."""
    for path in sorted(SOURCE.rglob("*.py")):
        module, text = ".".join(path.relative_to(SOURCE).with_suffix("").parts), path.read_text()
        if any(word in text for word in words):
            yield module, ast.parse(text)


def reach_in_module(tree: ast.Module, name: str) -> Sequence[ast.AST]:
    """Return the function of that name ("do" or "Class.do") and all functions of its module that it
    uses, directly or indirectly."""
    defined = dict(list_definitions(tree))
    reached: dict[str, ast.AST] = {}
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in reached:
            continue
        reached[current] = defined[current]
        used = list_names(defined[current])
        waiting += [each for each in defined if used & {each, *each.split(".")}]
    return list(reached.values())


def list_names(tree: ast.AST) -> set[str]:
    """Return every name and attribute in the tree."""
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    return names | {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}


def list_definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """List each function of the module, and each method with its class before it."""
    for each in tree.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name, each
        if isinstance(each, ast.ClassDef):
            for method in each.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{each.name}.{method.name}", method


def _list_functions(tree: ast.Module) -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    for each in tree.body:
        if isinstance(each, ast.AsyncFunctionDef) and _is_use_case(each):
            yield each.name, each
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            for method in each.body:
                if isinstance(method, ast.AsyncFunctionDef) and _is_use_case(method):
                    yield f"{each.name}.{method.name}", method


def _is_use_case(function: ast.AsyncFunctionDef) -> bool:
    given = [*function.args.args, *function.args.kwonlyargs]
    takes_one = any(ast.unparse(each.annotation) in _GIVEN for each in given if each.annotation)
    return takes_one and not function.name.startswith("_")


def _find_right(function: ast.AsyncFunctionDef) -> str | None:
    """Return the permission that the function checks in its first statement."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    first = ast.unparse(body[0]) if body else ""
    for call in ("work.require(Right.", "check_right(actor, Right."):
        if first.startswith(call):
            return first.removeprefix(call).removesuffix(")")
    return None


def name_function(function: Callable[..., object]) -> str:
    """Return the name that `UseCase.name` gives it."""
    return f"{function.__module__.removeprefix('dunwell.')}.{function.__qualname__}"


def name_reasons(
    reasons: Mapping[str, Sequence[Callable[..., object]]],
) -> Mapping[str, str]:
    """Return why each function is an exception, by its name. `reasons` holds functions by
    reason."""
    return {name_function(each): reason for reason, found in reasons.items() for each in found}


ASK_NOTHING = name_reasons({
    "it runs within a use case that has asked": (
        assign_claims.start_runs,
        access.lock_claim_of_merchant, access.check_claim_exists,
        claim_holds.lift_holds, claim_holds.open_hold,
        publish_event.publish_event, publish_event.publish_additional_event,
        search_claims.replace_search_terms,
        answer_dispute.lock_dispute, disputes_store.insert_evidence_files,
        wrong_person.release_claim, wrong_person.withhold_claim,
        change_attachments.check_ticket,
        end_claim.end_claim,
        explain_claim.explain_rules,
        exported_lists.ExportDefinition.load_rows,
        create_claims.create_requests, starts.decide_starts,
        act.load_action_target,
        audit_log.save_audit,
        answer_modality.notify_of_modality,
        open_merchant.deactivate_copied_workflows,
        answer_modality.publish_state_change,
        answer_modality.open_modality_hold,
        sweep_modalities.is_notice_still_true,
        send_notice.find_repeated_notice, send_notice.send_notice,
        notify_debtor.notify_debtor,
        record_payment.collect_if_paid, record_payment.load_balance,
        mandates.close_mandate, mandates.load_plan_for_mandate, mandates.publish_mandate_state,
        record_payment.allocate_surplus, live_requests.check_choice,
        reversals.return_money, reversals.restore_money, reversals.reopen_if_owed,
        refund_payment.get_paid_movement, review_money.finish_refund_reviews,
        live_requests.complete_transfer,
        live_requests.find_matching_transfer,
        live_requests.refresh_live_requests,
        record_payment.send_receipt, record_payment.book_payment, book_payments.book_payments,
        audit_log.save_audits,
        requests_store.lift_request_hold,
        requests_store.open_request_hold,
        live_requests.audit_request,
        delete_workflow.list_uses,
        publish_workflow.list_publishing_faults,
        change_workflow.lock_scenarios_for_change, change_workflow.lock_workflow_for_change,
    ),
    "it opens what use cases about people are given, who then ask": (
        passwords.SignInServices.work,
    ),
    "workers alone reach it, as a step of what is due": (
        claim_holds.ensure_hold,
        answer_dispute.set_hold_after_response,
        engine.record_decisions,
        record_outcomes.record_answers,
        record_outcomes.record_outcomes,
        sweep_modalities.begin_quiet_period,
        plan_collections.cancel_collection,
        collected_instalments.record_collected_instalment,
        sweep_modalities.set_hold_after_break,
        sweep_modalities.notify_of_progress, notice_outcomes.report_notice_failure,
    ),
    "workers alone reach it, and what it does to each claim asks in the starter's name": (
        act.act_on_claims,
    ),
    "it finds the rights that are asked for": (runner.load_current_rights,),
    "it opens the transaction that others ask in": (passwords.SignInServices.work,),
})  # fmt: skip


async def call_with_nothing(use_case: UseCase, work: Work) -> None:
    """Call the use case with the work or its actor, and None for all other parameters."""
    function = attrgetter(use_case.function)(import_module(f"dunwell.{use_case.module}"))
    given = {"work": work, "actor": work.actor}
    positional, named = [], {}
    for each in signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY:
            named[each.name] = given.get(each.name)
        else:
            positional.append(given.get(each.name))
    await function(*positional, **named)
