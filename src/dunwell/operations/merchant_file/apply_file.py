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
from dunwell.core.workflows.versions.differences import find_differences
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.operations.merchant_file.changes import (
    ApplyReport,
    Change,
    DiscardDraft,
    DiscardRules,
    WorkflowPreview,
)
from dunwell.operations.merchant_file.check_against_merchant import find_standing_faults
from dunwell.operations.merchant_file.check_file import (
    CheckedFile,
    InstallationLimits,
    check_merchant_file,
)
from dunwell.operations.merchant_file.decide_changes import decide_changes, describe_warnings
from dunwell.operations.merchant_file.file import find_process_key
from dunwell.operations.merchant_file.load_state import load_standing
from dunwell.operations.merchant_file.logo import LOGO_PLACE, LogoMaker, add_logo, find_logo
from dunwell.operations.merchant_file.logo_image import DATA, ImageRefused, read_data
from dunwell.operations.merchant_file.make_changes import APPLY, perform_changes
from dunwell.operations.merchant_file.merchant_state import MerchantState, StandingWorkflow
from dunwell.operations.merchant_file.read_file import Source, read_merchant_file
from dunwell.operations.merchant_file.settings import describe_gaps, write_file
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.yaml_document import DocumentFaulty


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
    work.require(Right.CONFIGURE)
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


_LOGO_PATH = (
    'A file that is given here brings its logo in itself: "data:image/png;base64," and the image.'
)
_FILE_PATH = "A file that is given here brings its definitions in itself, under the definition key."


async def read_given(
    text: str, merchant: Merchant, documents: DocumentReader, *, logos: LogoMaker, key: Hashable
) -> Source:
    """Raises ValidationError when it is no YAML at all, RateLimited and Unavailable; what else is
    wrong is among the source's faults. Child processes read the file and its logo, so this is not
    called within a transaction. key: who gives the file."""
    try:
        document = await documents.read(text, key, lambda value: value)
    except DocumentFaulty as error:
        raise ValidationError([Fault("", f"It is no YAML. {error}", "NOT_YAML")]) from error
    if not isinstance(document, dict):
        return Source(document, {}, [])
    own = {
        "key": merchant.key,
        "sandbox": merchant.is_sandbox,
        "switchedToWorkflows": merchant.switched_to_workflows,
    }
    return await _add_logo(Source({**document, **own}, {}, _find_paths(document)), merchant, logos)


def _find_paths(document: dict[str, Any]) -> list[Fault]:
    key = find_process_key(document)
    processes = document.get(key)
    return [
        Fault(render_pointer([key, index, "file"]), _FILE_PATH, "NOT_HERE")
        for index, each in enumerate(processes if isinstance(processes, list) else [])
        if isinstance(each, dict) and "file" in each
    ]


async def _add_logo(source: Source, merchant: Merchant, logos: LogoMaker) -> Source:
    name, present = find_logo(source.document), merchant.configuration.brand.logo
    if name is None:
        return source
    if not name.startswith(DATA):
        fault = Fault(LOGO_PLACE, _LOGO_PATH, "NOT_HERE")
        return replace(source, faults=[*source.faults, fault])
    try:
        content = read_data(name)
        # What is there was looked into when it came; written anew once more, it would be another.
        is_present = present is not None and present.content == content and present.png is not None
        logo = present if is_present else await logos.make_logo(content)
        return replace(source, logo=logo)
    except ImageRefused as refusal:
        fault = Fault(LOGO_PLACE, f"The image is not taken. {refusal}", "WRONG_IMAGE")
        return replace(source, faults=[*source.faults, fault])


async def export_file(work: Work, resources: Resources) -> dict[str, object]:
    """The merchant as a merchant file."""
    work.require(Right.CONFIGURE)
    standing = await load_standing(
        work.tx, resources.keys, work.merchant.key, lock=False, counts_claims=False
    )
    return write_file(standing)


async def plan_given(
    work: Work, resources: Resources, source: Source, surroundings: InstallationLimits,
    *, publish: bool,
) -> ApplyReport:  # fmt: skip
    """What `apply_given` would answer, secrets apart. Raises ValidationError with every fault."""
    work.require(Right.CONFIGURE)
    checked = check_merchant_file(source, surroundings)
    standing = await load_standing(work.tx, resources.keys, work.merchant.key, lock=False)
    changes = _decide(checked, standing, surroundings, publish=publish, is_plan=True)
    return _report(work, checked, standing, changes)


async def apply_given(
    work: Work, resources: Resources, source: Source, surroundings: InstallationLimits,
    *, publish: bool, known_revision: int,
) -> ApplyReport:  # fmt: skip
    """known_revision: of the merchant as it was planned for. Raises ValidationError, and
    EditConflict when it has changed since."""
    work.require(Right.CONFIGURE)
    checked = check_merchant_file(source, surroundings)
    standing = await load_standing(work.tx, resources.keys, work.merchant.key, lock=True)
    merchant = standing.merchant
    if merchant is None or merchant.revision != known_revision:
        raise EditConflict("The merchant was changed meanwhile. Look anew.")
    changes = _decide(checked, standing, surroundings, publish=publish)
    made = await perform_changes(
        resources, work.tx, merchant, changes=changes, actor=work.actor
    )  # fmt: skip
    report = _report(work, checked, standing, changes)
    return ApplyReport(
        merchant_id=report.merchant_id,
        key=report.key,
        changes=report.changes,
        credentials=made.credentials,
        webhooks=made.webhooks,
        gaps=report.gaps,
    )


def _decide(
    checked: CheckedFile, standing: MerchantState, surroundings: InstallationLimits,
    *, publish: bool, is_plan: bool = False,
) -> list[Change]:  # fmt: skip
    faults = list(
        find_standing_faults(checked, standing, is_development=surroundings.is_development)
    )
    if faults:
        raise ValidationError(faults)
    changes = decide_changes(checked, standing, publish=publish, is_plan=is_plan)
    return [each for each in changes if not isinstance(each, DiscardDraft | DiscardRules)]


def _report(
    work: Work, checked: CheckedFile, standing: MerchantState, changes: list[Change]
) -> ApplyReport:
    words = [line for change in changes for line in change.words]
    gaps = describe_gaps(checked, standing.configuration)
    return ApplyReport(work.merchant_id, checked.file.key, words, gaps=gaps)
