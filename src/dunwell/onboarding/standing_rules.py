"""What a merchant file may not say about the merchant as it stands. Pure."""

from collections.abc import Iterator

from msgspec import UNSET

from dunwell.errors import Fault
from dunwell.onboarding.account_rules import list_channels
from dunwell.onboarding.file import MerchantFile
from dunwell.onboarding.standing import Standing

_SANDBOX_ADAPTERS = ("outbox", "sandbox")


def find_standing_faults(file: MerchantFile, standing: Standing) -> Iterator[Fault]:
    """Faults with pointers into the file."""
    yield from _find_fixed_faults(file, standing)
    merchant = standing.merchant
    is_sandbox = file.sandbox is True if merchant is None else merchant.is_sandbox
    channels = {} if file.channels is UNSET else list_channels(file.channels)
    for name, setup in channels.items():
        if is_sandbox and setup.adapter not in _SANDBOX_ADAPTERS:
            message = 'A sandbox merchant sends nothing outside; use the adapter "outbox".'
            yield Fault(f"/channels/{name}/adapter", message, "NOT_IN_SANDBOX")
    if file.workflows and merchant is not None and not merchant.switched_to_workflows:
        message = "The merchant is not switched to workflows; remove them, or switch it."
        yield Fault("/workflows", message, "NOT_SWITCHED")
    yield from _find_default_faults(file, standing)


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
