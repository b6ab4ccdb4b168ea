"""Change some of a merchant's settings by the rules of the merchant file.

A change is checked like a file that has only these keys. It contains the revision of these keys as
they were shown. If two people change the same keys at the same time, the second gets a conflict;
changes of other keys do not interfere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Configuration, Logo
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.messages.templates.merchant_rules import (
    list_forbidden_word_faults,
    list_missing_value_faults,
    list_quiet_hour_faults,
)
from dunwell.core.workflows.definition import Definition
from dunwell.operations.merchant_file.check_against_merchant import find_state_faults
from dunwell.operations.merchant_file.check_file import (
    CheckedFile,
    InstallationLimits,
    check_merchant_file,
)
from dunwell.operations.merchant_file.decide_changes import decide_changes
from dunwell.operations.merchant_file.load_state import load_merchant_state
from dunwell.operations.merchant_file.make_changes import make_changes
from dunwell.operations.merchant_file.merchant_state import MerchantState
from dunwell.operations.merchant_file.read_file import MerchantFileSource
from dunwell.operations.merchant_file.settings import (
    compute_parts_revision,
    merge_configuration,
    render_settings,
)
from dunwell.platform.errors import EditConflict, Fault, NotFound, ValidationError
from dunwell.platform.resources import Resources

# The keys that every file must have.
_REQUIRED_KEYS = ("name", "language", "timezone")


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of some settings. `parts` maps keys of the merchant file to their new values. `logo`
    is the checked image for `brand.logo`. `revision` is that of these keys as they were shown."""

    parts: Mapping[str, Any]
    revision: str
    logo: Logo | None = None


async def get_settings(work: Work) -> dict[str, Any]:
    """Return the settings in the form of the merchant file."""
    work.require(Right.CONFIGURE)
    return render_settings(await _get_merchant(work))


async def check_settings(
    work: Work, resources: Resources, change: SettingsChange, limits: InstallationLimits
) -> None:
    """Check whether `save_settings` would accept the change now. Raises the same errors."""
    work.require(Right.CONFIGURE)
    state = await load_merchant_state(
        work.tx, resources.keys, work.merchant.key, lock=False, counts_claims=False
    )
    _check(state, change, limits)


async def save_settings(
    work: Work, resources: Resources, change: SettingsChange, limits: InstallationLimits
) -> bool:
    """Save the change and return whether anything differs. Raises ValidationError with every fault,
    by pointers into the file, and EditConflict if these settings have changed since they were
    shown."""
    work.require(Right.CONFIGURE)
    state = await load_merchant_state(
        work.tx, resources.keys, work.merchant.key, lock=True, counts_claims=False
    )
    checked = _check(state, change, limits)
    changes = decide_changes(checked, state, publish=False)
    await make_changes(
        resources, work.tx, state.merchant, changes=changes, actor=work.actor
    )  # fmt: skip
    return bool(changes)


def _check(state: MerchantState, change: SettingsChange, limits: InstallationLimits) -> CheckedFile:
    merchant = state.merchant
    assert merchant is not None
    current = render_settings(merchant)
    if compute_parts_revision(current, change.parts) != change.revision:
        raise EditConflict("These settings have been changed in the meantime.")
    required = {"key": merchant.key, **{key: current[key] for key in _REQUIRED_KEYS}}
    checked = check_merchant_file(
        MerchantFileSource({**required, **change.parts}, {}, [], change.logo), limits
    )
    wanted = merge_configuration(checked, merchant.configuration)
    faults = [
        *find_state_faults(checked, state, is_development=limits.is_development),
        *_find_broken_workflows(state, merchant.configuration, wanted),
    ]
    if faults:
        raise ValidationError(faults)
    return checked


def _find_broken_workflows(
    state: MerchantState, before: Configuration, after: Configuration
) -> Iterator[Fault]:
    """Yield the faults that the change causes in published workflows, without those that exist
    already."""
    for name, workflow in state.workflows.items():
        if workflow.current is None:
            continue
        definition = workflow.current.definition
        earlier_faults = set(_find_workflow_faults(before, definition))
        for fault in _find_workflow_faults(after, definition):
            if fault not in earlier_faults:
                message = f'The workflow "{name}" needs it: {fault.message}'
                yield replace(fault, path="", message=message)


def _find_workflow_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    yield from list_missing_value_faults(configuration, definition)
    yield from list_forbidden_word_faults(definition, configuration.forbidden_words)
    yield from list_quiet_hour_faults(configuration, definition)


async def _get_merchant(work: Work) -> Merchant:
    merchant = await load_merchant(work.tx, work.merchant_id)
    if merchant is None:
        raise NotFound("There is no such merchant.")
    return merchant
