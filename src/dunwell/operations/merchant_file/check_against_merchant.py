"""Faults of a merchant file that depend on the stored merchant. Pure."""

from collections.abc import Iterator, Sequence

from msgspec import UNSET

from dunwell.accounts.merchants.configuration import Channel
from dunwell.cases.assignment.rules import list_unknown_name_faults, list_workflow_names
from dunwell.contact.messages.templates.merchant_rules import (
    list_forbidden_word_faults,
    list_missing_value_faults,
    list_quiet_hour_faults,
)
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.versions import find_reused_id_faults
from dunwell.operations.merchant_file.check_file import CheckedFile
from dunwell.operations.merchant_file.decide_changes import decide_scenario_edit
from dunwell.operations.merchant_file.file import MerchantFile, list_workflow_parts
from dunwell.operations.merchant_file.merchant_state import MerchantState
from dunwell.operations.merchant_file.rules import find_webhook_reach_faults, locate_fault
from dunwell.operations.merchant_file.settings import merge_configuration
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import suggest_known

_SANDBOX_ADAPTERS = ("outbox", "sandbox")
_SANDBOX_PROVIDER = "sandbox"


def find_state_faults(
    checked: CheckedFile, state: MerchantState, *, is_development: bool
) -> Iterator[Fault]:
    """Yield all faults that depend on the stored merchant, with pointers into the file."""
    file = checked.file
    yield from _find_fixed_faults(file, state)
    merchant = state.merchant
    is_sandbox = file.sandbox is True if merchant is None else merchant.is_sandbox
    for name, setup in file.channels.items():
        key = "adapter" if setup.provider is None else "provider"
        if is_sandbox and setup.adapter not in _SANDBOX_ADAPTERS:
            message = 'A sandbox merchant sends nothing outside; use the adapter "outbox".'
            yield Fault(f"/channels/{name}/{key}", message, "NOT_IN_SANDBOX")
        elif setup.provider is not None and state.provider_channels.get(setup.provider) != name:
            yield Fault(
                f"/channels/{name}/provider", _describe_providers(name, state), "UNKNOWN_LINE"
            )
    yield from _find_method_faults(file, is_sandbox=is_sandbox, is_development=is_development)
    yield from _find_bank_faults(file, state, is_sandbox=is_sandbox)
    yield from _find_mandate_faults(file, state, is_sandbox=is_sandbox)
    webhooks = () if file.webhooks is UNSET else file.webhooks
    yield from find_webhook_reach_faults(webhooks, state.reach, is_development=is_development)
    yield from _find_kind_faults(file, state)
    yield from _find_target_faults(file, state)
    yield from _find_definition_faults(checked, state)


def _describe_providers(channel: Channel, state: MerchantState) -> str:
    names = sorted(name for name, used in state.provider_channels.items() if used == channel)
    if not names:
        return (
            f"The installation file has no delivery provider for {channel}; add one and apply it "
            "first."
        )
    return f"The installation file's delivery providers for {channel} are: {', '.join(names)}."


def _find_kind_faults(file: MerchantFile, state: MerchantState) -> Iterator[Fault]:
    """Yield a fault for workflows of a merchant on scenarios, and for scenarios of a merchant on
    workflows."""
    merchant = state.merchant
    is_switched = file.switched_to_workflows is not False
    if merchant is not None:
        is_switched = merchant.switched_to_workflows
    if file.workflows and not is_switched:
        message = 'The merchant works with scenarios; name them "scenarios", or run '
        yield Fault("/workflows", f'{message}"dunwell switch {file.key}".', "NOT_SWITCHED")
    if file.scenarios and is_switched:
        message = 'The merchant works with workflows; name them "workflows".'
        if merchant is None:
            message = 'A merchant with scenarios needs "switchedToWorkflows: false".'
        yield Fault("/scenarios", message, "SWITCHED")


def _find_method_faults(
    file: MerchantFile, *, is_sandbox: bool, is_development: bool
) -> Iterator[Fault]:
    methods = () if file.payment is UNSET else file.payment.methods
    for index, method in enumerate(methods):
        path = f"/payment/methods/{index}/provider"
        if is_sandbox and method.provider != _SANDBOX_PROVIDER:
            message = 'A sandbox merchant moves no money; use the provider "sandbox".'
            yield Fault(path, message, "NOT_IN_SANDBOX")
        if not is_sandbox and method.provider == _SANDBOX_PROVIDER and not is_development:
            message = "The sandbox provider moves no money; use another for a live merchant."
            yield Fault(path, message, "SANDBOX_ONLY")


def _find_bank_faults(
    file: MerchantFile, state: MerchantState, *, is_sandbox: bool
) -> Iterator[Fault]:
    settings = None if file.payment is UNSET else file.payment.direct_debit
    name = None if settings is None else settings.deliver_to
    if name is None:
        return
    path = "/payment/directDebit/deliverTo"
    if is_sandbox:
        message = "A sandbox merchant moves no money; remove it, and download the files."
        yield Fault(path, message, "NOT_IN_SANDBOX")
    elif name not in state.banks:
        nearest = suggest_known(name, sorted(state.banks))
        message = f'The installation file has no bank connection "{name}". {nearest}'
        yield Fault(path, message, "UNKNOWN_BANK")


def _find_mandate_faults(
    file: MerchantFile, state: MerchantState, *, is_sandbox: bool
) -> Iterator[Fault]:
    """Yield a fault for a provider at which no mandates can be given."""
    name = None if file.payment is UNSET else file.payment.direct_debit_provider
    if name is None:
        return
    path = "/payment/directDebitProvider"
    if is_sandbox:
        message = "A sandbox merchant moves no money; remove it."
        yield Fault(path, message, "NOT_IN_SANDBOX")
    elif name not in state.mandate_providers:
        nearest = suggest_known(name, sorted(state.mandate_providers))
        message = (
            f'The installation file has no payment provider "{name}" that collects with mandates. '
            f"{nearest}"
        )
        yield Fault(path, message, "UNKNOWN_PROVIDER")


def _find_fixed_faults(file: MerchantFile, state: MerchantState) -> Iterator[Fault]:
    """Yield a fault for each changed key that applies only when the merchant is created (CONTRACT
    11)."""
    merchant = state.merchant
    if merchant is None:
        return
    if file.sandbox is not UNSET and file.sandbox != merchant.is_sandbox:
        kind = "a sandbox" if merchant.is_sandbox else "a live"
        message = f'It is {kind} merchant and stays one; create another under another "key".'
        yield Fault("/sandbox", message, "FIXED")
    switched = file.switched_to_workflows
    if switched is not UNSET and switched != merchant.switched_to_workflows:
        message = f'Only "dunwell switch {file.key}" changes this; put it back.'
        if merchant.switched_to_workflows:
            message = "The switch to workflows cannot be undone; set it to true or remove it."
        yield Fault("/switchedToWorkflows", message, "FIXED")


def _find_target_faults(file: MerchantFile, state: MerchantState) -> Iterator[Fault]:
    """Yield a fault for each workflow that the rules name but that does not exist after the file is
    applied, or that was never published."""
    if file.assignment_rules is UNSET:
        return
    names_in_file = [part.name for part in list_workflow_parts(file)]
    known = [*names_in_file, *state.workflows]
    for fault in list_unknown_name_faults(file.assignment_rules, known):
        yield Fault(f"/assignmentRules{fault.path}", fault.message, fault.code)
    for path, name in list_workflow_names(file.assignment_rules):
        workflow = state.workflows.get(name)
        if name not in names_in_file and workflow is not None and workflow.current is None:
            message = f'The workflow "{name}" was never published; publish it first.'
            yield Fault(f"/assignmentRules{path}", message, "NEVER_PUBLISHED")


def _find_definition_faults(checked: CheckedFile, state: MerchantState) -> Iterator[Fault]:
    """Yield the faults of the definitions under the settings after the file is applied, and against
    earlier versions."""
    before = None if state.merchant is None else state.merchant.configuration
    configuration = merge_configuration(checked, before)
    key = "workflows" if checked.file.workflows else "scenarios"
    for index, part in enumerate(list_workflow_parts(checked.file)):
        definition = checked.definitions[part.name]
        faults = list(list_missing_value_faults(configuration, definition))
        faults += list_forbidden_word_faults(definition, configuration.forbidden_words)
        # Quiet hours in the file itself are checked by `check_file`.
        if checked.file.guards is UNSET:
            faults += list_quiet_hour_faults(configuration, definition)
        faults += _find_id_faults(part.name, definition, state)
        for fault in faults:
            is_inline = part.definition is not UNSET
            yield locate_fault(fault, f"/{key}/{index}", is_inline=is_inline)


def _find_id_faults(name: str, definition: Definition, state: MerchantState) -> Sequence[Fault]:
    """Return the faults of step ids that had another meaning before and, for a scenario, of the
    order of its steps."""
    if name in state.scenarios:
        return decide_scenario_edit(definition, state.scenarios[name]).faults
    workflow = state.workflows.get(name)
    return find_reused_id_faults({} if workflow is None else workflow.known_steps, definition)
