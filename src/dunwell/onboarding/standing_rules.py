"""What a merchant file may not say about the merchant as it stands. Pure."""

from collections.abc import Iterator

from msgspec import UNSET

from dunwell.errors import Fault
from dunwell.onboarding.account_rules import list_channels
from dunwell.onboarding.checking import CheckedFile
from dunwell.onboarding.configuration import merge_configuration
from dunwell.onboarding.file import MerchantFile
from dunwell.onboarding.process_rules import point_at
from dunwell.onboarding.standing import Standing
from dunwell.onboarding.value_rules import find_value_faults

_SANDBOX_ADAPTERS = ("outbox", "sandbox")
_SANDBOX_PROVIDER = "sandbox"


def find_standing_faults(
    checked: CheckedFile, standing: Standing, *, is_development: bool
) -> Iterator[Fault]:
    """Faults with pointers into the file."""
    file = checked.file
    yield from _find_fixed_faults(file, standing)
    merchant = standing.merchant
    is_sandbox = file.sandbox is True if merchant is None else merchant.is_sandbox
    channels = {} if file.channels is UNSET else list_channels(file.channels)
    for name, setup in channels.items():
        if is_sandbox and setup.adapter not in _SANDBOX_ADAPTERS:
            message = 'A sandbox merchant sends nothing outside; use the adapter "outbox".'
            yield Fault(f"/channels/{name}/adapter", message, "NOT_IN_SANDBOX")
    yield from _find_method_faults(file, is_sandbox=is_sandbox, is_development=is_development)
    if file.workflows and merchant is not None and not merchant.switched_to_workflows:
        message = "The merchant is not switched to workflows; remove them, or switch it."
        yield Fault("/workflows", message, "NOT_SWITCHED")
    yield from _find_default_faults(file, standing)
    yield from _find_empty_values(checked, standing)


def _find_method_faults(
    file: MerchantFile, *, is_sandbox: bool, is_development: bool
) -> Iterator[Fault]:
    methods = [] if file.payment is UNSET or file.payment.methods is UNSET else file.payment.methods
    for index, method in enumerate(methods):
        path = f"/payment/methods/{index}/provider"
        if is_sandbox and method.provider != _SANDBOX_PROVIDER:
            message = 'A sandbox merchant moves no money; use the provider "sandbox".'
            yield Fault(path, message, "NOT_IN_SANDBOX")
        if not is_sandbox and method.provider == _SANDBOX_PROVIDER and not is_development:
            message = "The sandbox provider moves no money; use another for a live merchant."
            yield Fault(path, message, "SANDBOX_ONLY")


def _find_fixed_faults(file: MerchantFile, standing: Standing) -> Iterator[Fault]:
    """Some keys count at creation only (CONTRACT 11)."""
    merchant = standing.merchant
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
            message = "There is no way back from workflows; set it to true or remove it."
        yield Fault("/switchedToWorkflows", message, "FIXED")


def _find_default_faults(file: MerchantFile, standing: Standing) -> Iterator[Fault]:
    if file.assignment_rules is UNSET or file.assignment_rules.default is None:
        return
    name = file.assignment_rules.default
    known = [part.name for part in file.workflows or []] + list(standing.workflows)
    if name not in known:
        message = f'There is no workflow "{name}"; add it under "workflows" or name another.'
        yield Fault("/assignmentRules/default", message, "UNKNOWN_WORKFLOW")


def _find_empty_values(checked: CheckedFile, standing: Standing) -> Iterator[Fault]:
    """Of the configuration as it will be once the file is applied."""
    before = None if standing.merchant is None else standing.merchant.configuration
    configuration = merge_configuration(checked.file, checked.logo, before)
    for index, part in enumerate(checked.file.workflows or []):
        for fault in find_value_faults(configuration, checked.definitions[part.name]):
            is_inline = part.definition is not UNSET
            yield point_at(fault, f"/workflows/{index}", is_inline=is_inline)
