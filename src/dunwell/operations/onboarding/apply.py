"""Plans or applies a merchant file: creates or updates one merchant in one transaction (CONTRACT
11).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import PreviewEffects, PreviewScope, ProgressCallback
from dunwell.cases.rollout.preview.effects_views import (
    build_next_contacts_view,
    describe_next_contacts,
)
from dunwell.cases.rollout.preview.preview_effects import MinorVersionChange, preview_effects
from dunwell.cases.rollout.publish_workflow import count_reached_claims
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import find_differences
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.operations.onboarding.checking import (
    CheckedFile,
    InstallationLimits,
    check_merchant_file,
)
from dunwell.operations.onboarding.configuration import describe_gaps
from dunwell.operations.onboarding.decision import decide_changes, describe_warnings
from dunwell.operations.onboarding.load_standing import load_standing
from dunwell.operations.onboarding.logo import add_logo
from dunwell.operations.onboarding.performing import APPLY, perform_changes
from dunwell.operations.onboarding.reading import read_merchant_file
from dunwell.operations.onboarding.report import ApplyReport, WorkflowPreview
from dunwell.operations.onboarding.standing import MerchantState, StandingWorkflow
from dunwell.operations.onboarding.standing_rules import find_standing_faults
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources


async def open_file(
    resources: Resources,
    path: Path,
    available_adapters: Mapping[str, Collection[str]],
    available_providers: Collection[str],
) -> CheckedFile:
    """Raises ValidationError with every fault that the file has by itself."""
    source = await add_logo(read_merchant_file(path), path)
    is_development = resources.settings.is_development
    return check_merchant_file(
        source, InstallationLimits(available_adapters, is_development, available_providers)
    )


async def open_standing(
    resources: Resources, tx: Connection, checked: CheckedFile, *, lock: bool
) -> MerchantState:
    """The merchant as it stands. Raises ValidationError with all that the file cannot change."""
    standing = await load_standing(tx, resources.keys, checked.file.key, lock=lock)
    is_development = resources.settings.is_development
    faults = list(find_standing_faults(checked, standing, is_development=is_development))
    if faults:
        raise ValidationError(faults)
    return standing


# Next contacts alone: how the days ahead look is asked for one workflow at a time.
_ASKED = PreviewScope(days=0, listed=20)


async def preview_workflows(
    work: Work, keys: KeyRing, checked: CheckedFile, standing: MerchantState,
    progress: ProgressCallback | None = None,
) -> list[tuple[WorkflowPreview, str | None]]:  # fmt: skip
    """In the order of the file, each with a line for people if it reaches any claim."""
    work.need(Right.CONFIGURE)
    previews = []
    for name, definition, workflow, current in _list_changed(checked, standing):
        verdict = find_verdict(current.definition, definition)
        reached = count_reached_claims(current, verdict, workflow.active_claims)
        effects = PreviewEffects()
        if reached:
            change = MinorVersionChange(current, definition, reached)
            asked = replace(_ASKED, progress=progress)
            effects = await preview_effects(work, keys, change, asked)
        staying = sum(workflow.active_claims.values()) - reached
        preview = _compose(
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
    checked: CheckedFile, standing: MerchantState
) -> Iterator[tuple[str, Definition, StandingWorkflow, Version]]:
    if standing.scenarios:
        # Edited in place: there is no version to go over from.
        return
    for name, definition in checked.definitions.items():
        workflow = standing.workflows.get(name)
        current = workflow.current if workflow else None
        if workflow is not None and current is not None and current.definition != definition:
            yield name, definition, workflow, current


def _compose(
    name: str, wanted: Definition, current: Version, verdict: VersionVerdict,
    reach: tuple[int, int, PreviewEffects],
) -> WorkflowPreview:  # fmt: skip
    reached, staying, effects = reach
    return WorkflowPreview(
        workflow=name,
        before=current.name,
        after=render_version_name(*find_next_number(current, verdict)),
        verdict=verdict,
        differences=find_differences(current.definition, wanted),
        claims_reached=reached,
        claims_staying=staying,
        next_contacts=build_next_contacts_view(effects),
    )


async def plan_file(
    resources: Resources, path: Path, *, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
    progress: ProgressCallback | None = None,
) -> ApplyReport:  # fmt: skip
    """What `apply_file` with the same arguments would answer, secrets apart. A preview tells what
    publishing would do, without `publish` too. `progress`: claims done, and all of one workflow.

    Raises ValidationError with every fault.
    """
    checked = await open_file(resources, path, available_adapters, available_providers)
    async with resources.database.connection() as connection, snapshot(connection):
        standing = await open_standing(resources, connection, checked, lock=False)
        changes = decide_changes(checked, standing, publish=publish, is_plan=True)
        words = [line for change in changes for line in change.words]
        gaps = describe_gaps(checked, standing.configuration)
        warnings = describe_warnings(checked) or UNSET
        merchant = standing.merchant
        if merchant is None:
            return ApplyReport(
                None, checked.file.key, words, gaps=gaps, warnings=warnings, previews=[]
            )
        work = Work.open(resources, connection, merchant, APPLY)
        previews = await preview_workflows(
            work, resources.keys, checked=checked, standing=standing, progress=progress
        )
    words += [line for _, line in previews if line]
    reports = [preview for preview, _ in previews]
    return ApplyReport(
        merchant.merchant_id,
        checked.file.key,
        words,
        gaps=gaps,
        warnings=warnings,
        previews=reports,
    )


async def apply_file(
    resources: Resources, path: Path, *, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
) -> ApplyReport:  # fmt: skip
    """Make the merchant what the file says.

    `available_adapters`: the installation's adapter names per channel; `available_providers`: its
    payment providers. `publish`: changed definitions become versions, not drafts. Raises
    ValidationError with every fault.
    """
    checked = await open_file(resources, path, available_adapters, available_providers)
    return await apply_checked(resources, checked, publish=publish)


async def apply_checked(
    resources: Resources, checked: CheckedFile, *, publish: bool = False
) -> ApplyReport:
    """The same of a file that was opened."""
    async with resources.database.transaction() as tx:
        standing = await open_standing(resources, tx, checked, lock=True)
        changes = decide_changes(checked, standing, publish=publish)
        made = await perform_changes(resources, tx, standing.merchant, changes=changes)
    words = [line for change in changes for line in change.words]
    return ApplyReport(
        merchant_id=made.merchant_id,
        key=checked.file.key,
        changes=words,
        credentials=made.credentials,
        webhooks=made.webhooks,
        gaps=describe_gaps(checked, standing.configuration),
        warnings=describe_warnings(checked) or UNSET,
    )
