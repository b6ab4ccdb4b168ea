"""Plan or apply a merchant file that is given by its path (command line) or as text (portal)."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import UNSET

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import PreviewEffects, PreviewScope, ProgressCallback
from dunwell.cases.rollout.preview.effects_views import (
    build_next_contacts_view,
    describe_next_contacts,
)
from dunwell.cases.rollout.preview.preview_effects import MinorVersionChange, preview_effects
from dunwell.cases.rollout.publish_workflow import count_reached_claims
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import list_differences
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    compute_next_number,
    compute_verdict,
    render_version_name,
)
from dunwell.operations.merchant_file.changes import (
    ApplyReport,
    Change,
    DiscardDraft,
    DiscardRules,
    WorkflowPreview,
)
from dunwell.operations.merchant_file.check_against_merchant import find_state_faults
from dunwell.operations.merchant_file.check_file import (
    CheckedFile,
    InstallationLimits,
    check_merchant_file,
)
from dunwell.operations.merchant_file.decide_changes import decide_changes, describe_warnings
from dunwell.operations.merchant_file.file import find_workflows_key
from dunwell.operations.merchant_file.load_state import load_merchant_state
from dunwell.operations.merchant_file.logo import LOGO_POINTER, LogoMaker, add_logo, find_logo
from dunwell.operations.merchant_file.logo_image import (
    DATA_PREFIX,
    ImageRefused,
    parse_data_address,
)
from dunwell.operations.merchant_file.make_changes import APPLY, make_changes
from dunwell.operations.merchant_file.merchant_state import CurrentWorkflow, MerchantState
from dunwell.operations.merchant_file.read_file import MerchantFileSource, read_merchant_file
from dunwell.operations.merchant_file.settings import describe_gaps, render_merchant_file
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.yaml_document import InvalidDocument


async def read_checked_file(
    resources: Resources,
    path: Path,
    available_adapters: Mapping[str, Collection[str]],
    available_providers: Collection[str],
) -> CheckedFile:
    """Read and check the file by itself. Raises ValidationError with every fault."""
    source = await add_logo(read_merchant_file(path), path)
    is_development = resources.settings.is_development
    return check_merchant_file(
        source, InstallationLimits(available_adapters, is_development, available_providers)
    )


async def load_checked_state(
    resources: Resources, tx: Connection, checked: CheckedFile, *, lock: bool
) -> MerchantState:
    """Load the merchant that the file names, and check the file against it. Raises ValidationError
    with every fault."""
    state = await load_merchant_state(tx, resources.keys, checked.file.key, lock=lock)
    is_development = resources.settings.is_development
    faults = list(find_state_faults(checked, state, is_development=is_development))
    if faults:
        raise ValidationError(faults)
    return state


# The previews of a file show only the next contacts. Forecasts of further days are requested for
# one workflow at a time.
_NEXT_CONTACTS_ONLY = PreviewScope(days=0, listed=20)


async def preview_workflows(
    work: Work, keys: KeyRing, checked: CheckedFile, state: MerchantState,
    progress: ProgressCallback | None = None,
) -> list[tuple[WorkflowPreview, str | None]]:  # fmt: skip
    """Preview the changed workflows, in the order of the file. Each preview comes with a line to
    print if it has next contacts, otherwise None."""
    work.require(Right.CONFIGURE)
    previews = []
    for name, definition, workflow, current in _list_changed(checked, state):
        verdict = compute_verdict(current.definition, definition)
        reached = count_reached_claims(current, verdict, workflow.active_claims)
        effects = PreviewEffects()
        if reached:
            change = MinorVersionChange(current, definition, reached)
            scope = replace(_NEXT_CONTACTS_ONLY, progress=progress)
            effects = await preview_effects(work, keys, change, scope)
        staying = sum(workflow.active_claims.values()) - reached
        preview = _build_preview(
            name,
            wanted=definition,
            current=current,
            verdict=verdict,
            reach=(reached, staying, effects),
        )
        line = f'workflow "{name}": {describe_next_contacts(effects)}' if effects.claims else None
        previews.append((preview, line))
    return previews


def _list_changed(
    checked: CheckedFile, state: MerchantState
) -> Iterator[tuple[str, Definition, CurrentWorkflow, Version]]:
    if state.scenarios:
        # Scenarios are edited in place and have no versions.
        return
    for name, definition in checked.definitions.items():
        workflow = state.workflows.get(name)
        current = workflow.current if workflow else None
        if workflow is not None and current is not None and current.definition != definition:
            yield name, definition, workflow, current


def _build_preview(
    name: str, wanted: Definition, current: Version, verdict: VersionVerdict,
    reach: tuple[int, int, PreviewEffects],
) -> WorkflowPreview:  # fmt: skip
    """Build the preview of one workflow. `reach` has the numbers of claims that move to the new
    version and of those that stay, and the effects."""
    reached, staying, effects = reach
    return WorkflowPreview(
        workflow=name,
        before=current.name,
        after=render_version_name(*compute_next_number(current, verdict)),
        verdict=verdict,
        differences=list_differences(current.definition, wanted),
        claims_reached=reached,
        claims_staying=staying,
        next_contacts=build_next_contacts_view(effects),
    )


async def plan_file(
    resources: Resources, path: Path, *, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
    progress: ProgressCallback | None = None,
) -> ApplyReport:  # fmt: skip
    """Return what `apply_file` would return with the same arguments, without secrets. The previews
    show the effect of publishing, even if `publish` is False. `progress` is called with the number
    of claims done and the total of a workflow.

    Raises ValidationError with every fault.
    """
    checked = await read_checked_file(resources, path, available_adapters, available_providers)
    async with resources.database.connection() as connection, snapshot(connection):
        state = await load_checked_state(resources, connection, checked, lock=False)
        changes = decide_changes(checked, state, publish=publish, is_plan=True)
        lines = [line for change in changes for line in change.lines]
        gaps = describe_gaps(checked, state.configuration)
        warnings = describe_warnings(checked) or UNSET
        merchant = state.merchant
        if merchant is None:
            return ApplyReport(
                None, checked.file.key, lines, gaps=gaps, warnings=warnings, previews=[]
            )
        work = Work.open(resources, connection, merchant, APPLY)
        previews = await preview_workflows(
            work, resources.keys, checked=checked, state=state, progress=progress
        )
    lines += [line for _, line in previews if line]
    reports = [preview for preview, _ in previews]
    return ApplyReport(
        merchant.merchant_id,
        checked.file.key,
        lines,
        gaps=gaps,
        warnings=warnings,
        previews=reports,
    )


async def apply_file(
    resources: Resources, path: Path, *, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
) -> ApplyReport:  # fmt: skip
    """Change the merchant to match the file.

    `available_adapters` are the installation's adapter names by channel, `available_providers` its
    payment providers. With `publish`, changed definitions become versions, not drafts. Raises
    ValidationError with every fault.
    """
    checked = await read_checked_file(resources, path, available_adapters, available_providers)
    return await apply_checked(resources, checked, publish=publish)


async def apply_checked(
    resources: Resources, checked: CheckedFile, *, publish: bool = False
) -> ApplyReport:
    """Apply a file that is already read and checked."""
    async with resources.database.transaction() as tx:
        state = await load_checked_state(resources, tx, checked, lock=True)
        changes = decide_changes(checked, state, publish=publish)
        made = await make_changes(resources, tx, state.merchant, changes=changes)
    lines = [line for change in changes for line in change.lines]
    return ApplyReport(
        merchant_id=made.merchant_id,
        key=checked.file.key,
        changes=lines,
        credentials=made.credentials,
        webhooks=made.webhooks,
        gaps=describe_gaps(checked, state.configuration),
        warnings=describe_warnings(checked) or UNSET,
    )


_LOGO_PATH = (
    'A file that is uploaded here must contain its logo: "data:image/png;base64," and the image.'
)
_FILE_PATH = "A file that is uploaded here must contain its definitions, under the definition key."


async def parse_given_file(
    text: str, merchant: Merchant, documents: DocumentReader, *, logos: LogoMaker, key: Hashable
) -> MerchantFileSource:
    """Parse a file that was given as text. Call this without an open transaction, because child
    processes read the file and its logo; they do one task at a time for each `key`. Raises
    ValidationError if the text is not YAML, RateLimited and Unavailable; all other faults are in
    the result."""
    try:
        document = await documents.read(text, key, lambda value: value)
    except InvalidDocument as error:
        raise ValidationError(
            [Fault("", f"This is not valid YAML. {error}", "NOT_YAML")]
        ) from error
    if not isinstance(document, dict):
        return MerchantFileSource(document, {}, [])
    fixed = {
        "key": merchant.key,
        "sandbox": merchant.is_sandbox,
        "switchedToWorkflows": merchant.switched_to_workflows,
    }
    return await _add_logo(
        MerchantFileSource({**document, **fixed}, {}, _find_path_faults(document)), merchant, logos
    )


def _find_path_faults(document: dict[str, Any]) -> list[Fault]:
    key = find_workflows_key(document)
    entries = document.get(key)
    return [
        Fault(render_pointer([key, index, "file"]), _FILE_PATH, "NOT_HERE")
        for index, each in enumerate(entries if isinstance(entries, list) else [])
        if isinstance(each, dict) and "file" in each
    ]


async def _add_logo(
    source: MerchantFileSource, merchant: Merchant, logos: LogoMaker
) -> MerchantFileSource:
    name, present = find_logo(source.document), merchant.configuration.brand.logo
    if name is None:
        return source
    if not name.startswith(DATA_PREFIX):
        fault = Fault(LOGO_POINTER, _LOGO_PATH, "NOT_HERE")
        return replace(source, faults=[*source.faults, fault])
    try:
        content = parse_data_address(name)
        # Keep the stored logo: converting the same image again could give other bytes.
        is_present = present is not None and present.content == content and present.png is not None
        logo = present if is_present else await logos.make_logo(content)
        return replace(source, logo=logo)
    except ImageRefused as refusal:
        fault = Fault(LOGO_POINTER, f"The image is rejected. {refusal}", "WRONG_IMAGE")
        return replace(source, faults=[*source.faults, fault])


async def export_merchant_file(work: Work, resources: Resources) -> dict[str, object]:
    """Return the merchant's settings as a merchant file."""
    work.require(Right.CONFIGURE)
    state = await load_merchant_state(
        work.tx, resources.keys, work.merchant.key, lock=False, counts_claims=False
    )
    return render_merchant_file(state)


async def plan_given_file(
    work: Work, resources: Resources, source: MerchantFileSource, limits: InstallationLimits,
    *, publish: bool,
) -> ApplyReport:  # fmt: skip
    """Return what `apply_given_file` would return, without secrets. Raises ValidationError with
    every fault."""
    work.require(Right.CONFIGURE)
    checked = check_merchant_file(source, limits)
    state = await load_merchant_state(work.tx, resources.keys, work.merchant.key, lock=False)
    changes = _check_and_decide(checked, state, limits, publish=publish, is_plan=True)
    return _build_report(work, checked, state, changes)


async def apply_given_file(
    work: Work, resources: Resources, source: MerchantFileSource, limits: InstallationLimits,
    *, publish: bool, known_revision: int,
) -> ApplyReport:  # fmt: skip
    """Apply the file. `known_revision` is the merchant's revision that was planned for. Raises
    ValidationError, and EditConflict if the merchant has changed since."""
    work.require(Right.CONFIGURE)
    checked = check_merchant_file(source, limits)
    state = await load_merchant_state(work.tx, resources.keys, work.merchant.key, lock=True)
    merchant = state.merchant
    if merchant is None or merchant.revision != known_revision:
        raise EditConflict("The merchant has been changed in the meantime. Load it again.")
    changes = _check_and_decide(checked, state, limits, publish=publish)
    made = await make_changes(
        resources, work.tx, merchant, changes=changes, actor=work.actor
    )  # fmt: skip
    report = _build_report(work, checked, state, changes)
    return ApplyReport(
        merchant_id=report.merchant_id,
        key=report.key,
        changes=report.changes,
        credentials=made.credentials,
        webhooks=made.webhooks,
        gaps=report.gaps,
    )


def _check_and_decide(
    checked: CheckedFile, state: MerchantState, limits: InstallationLimits,
    *, publish: bool, is_plan: bool = False,
) -> list[Change]:  # fmt: skip
    faults = list(find_state_faults(checked, state, is_development=limits.is_development))
    if faults:
        raise ValidationError(faults)
    changes = decide_changes(checked, state, publish=publish, is_plan=is_plan)
    return [each for each in changes if not isinstance(each, DiscardDraft | DiscardRules)]


def _build_report(
    work: Work, checked: CheckedFile, state: MerchantState, changes: list[Change]
) -> ApplyReport:
    lines = [line for change in changes for line in change.lines]
    gaps = describe_gaps(checked, state.configuration)
    return ApplyReport(work.merchant_id, checked.file.key, lines, gaps=gaps)
