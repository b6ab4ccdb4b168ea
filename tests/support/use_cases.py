"""Every use case of the product, found in its source: a public asynchronous function that takes a
`Work`, or an `Actor` where it opens its transactions itself.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path

import dunwell
from dunwell.accounts.merchants.account import Work

SOURCE = Path(dunwell.__file__).parent
_GIVEN = {"Work", "Actor"}


@dataclass(frozen=True)
class UseCase:
    module: str
    # With its class before it, of a method.
    function: str
    right: str | None

    @property
    def name(self) -> str:
        return f"{self.module}.{self.function}"


@cache
def find_use_cases() -> Sequence[UseCase]:
    """Cached, because it parses the whole source, which takes a second."""
    return tuple(
        UseCase(module, function, _find_right(each))
        for module, tree in find_modules()
        for function, each in _list_functions(tree)
    )


def find_modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        yield module, ast.parse(path.read_text())


def reach_in_module(tree: ast.Module, name: str) -> Sequence[ast.AST]:
    """The function of that name ("do" or "Class.do") and all others of its module that it uses,
    through however many of them."""
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
    """Every name and attribute in it."""
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
    """What it asks for in its first line behind the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    first = ast.unparse(body[0]) if body else ""
    for call in ("work.need(Right.", "check_right(actor, Right."):
        if first.startswith(call):
            return first.removeprefix(call).removesuffix(")")
    return None


def _name(reasons: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    return {name: reason for reason, names in reasons.items() for name in names}


ASK_NOTHING = _name({
    "it runs within a use case that has asked": (
        "cases.assignment.start_runs.start_runs",
        "core.claims.access.access_claim", "core.claims.access.check_claim",
        "core.claims.hold_claim.lift_hold", "core.claims.hold_claim.open_hold",
        "core.claims.raise_event.raise_event", "core.claims.searching.fill_search.replace_terms",
        "cases.disputes.end_dispute.lock_dispute", "cases.disputes.evidence_store.save_evidence",
        "cases.disputes.withheld.release_claim", "cases.disputes.withheld.withhold_claim",
        "contact.escalation.change_attachments.check_ticket",
        "contact.escalation.end_claim.end_claim",
        "operations.explanation.explain_rules.explain_rules",
        "operations.jobs.exported_lists.Exported.read_rows",
        "cases.intake.create_claims.create_requests", "cases.intake.starts.decide_starts",
        "operations.jobs.act.find_target",
        "accounts.merchants.audit.save_audit",
        "cases.modalities.confirmation.tell_modality",
        "operations.onboarding.copy_processes.deactivate_copied",
        "cases.modalities.request_modality.announce",
        "cases.modalities.request_modality.open_modality_hold",
        "cases.modalities.tell_plan.is_still_true",
        "contact.notices.send_notice.find_repeated", "contact.notices.send_notice.send_notice",
        "contact.notices.tell_debtor.tell_debtor",
        "cases.payments.balancing.collect_if_paid", "cases.payments.balancing.load_balance",
        "cases.payments.balancing.use_surplus", "cases.payments.check_choice.check_choice",
        "cases.payments.expire_transfer.complete_transfer",
        "cases.payments.expire_transfer.find_arrived",
        "cases.payments.expire_transfer.load_awaited_requests",
        "cases.payments.receipt.tell_payment", "cases.payments.record_payment.enter_payment",
        "cases.payments.request_holds.lift_request_hold",
        "cases.payments.request_holds.open_request_hold",
        "cases.payments.take_request.audit_request",
        "cases.rollout.delete_workflow.find_uses",
        "cases.rollout.publish_workflow.find_publishing_faults",
        "core.workflows.open_workflow.open_scenarios", "core.workflows.open_workflow.open_workflow",
    ),
    "it opens what use cases about people are given, who then ask": (
        "accounts.users.reception.Reception.work",
    ),
    "workers alone reach it, as a step of what is due": (
        "core.claims.hold_claim.let_stand",
        "cases.disputes.rest_after_answer.rest_after_answer",
        "contact.escalation.record_decisions.record_decisions",
        "contact.escalation.settle_contacts.record_answers",
        "contact.escalation.settle_contacts.settle_contacts",
        "cases.modalities.rest_after_break.begin_rest",
        "cases.modalities.rest_after_break.rest_after_break",
        "cases.modalities.tell_plan.tell_plans", "contact.notices.settled.report_notice_failure",
    ),
    "workers alone reach it, and what it does to each claim asks in the starter's name": (
        "operations.jobs.act.act_on_claims",
    ),
    "it finds the rights that are asked for": ("operations.jobs.starters.ask_rights_again",),
    "it opens the transaction that others ask in": ("accounts.users.reception.Reception.work",),
})  # fmt: skip


async def call_with_nothing(use_case: UseCase, work: Work) -> None:
    """With the work or its actor, and None for all else."""
    function = attrgetter(use_case.function)(import_module(f"dunwell.{use_case.module}"))
    given = {"work": work, "actor": work.actor}
    positional, named = [], {}
    for each in signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY:
            named[each.name] = given.get(each.name)
        else:
            positional.append(given.get(each.name))
    await function(*positional, **named)
