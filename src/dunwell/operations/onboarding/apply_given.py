"""A merchant file given as text in the portal: read, planned, applied and exported."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.onboarding.changes import Change, DiscardDraft, DiscardRules
from dunwell.operations.onboarding.checking import (
    CheckedFile,
    InstallationLimits,
    check_merchant_file,
)
from dunwell.operations.onboarding.configuration import describe_gaps
from dunwell.operations.onboarding.decision import decide_changes
from dunwell.operations.onboarding.file import find_process_key
from dunwell.operations.onboarding.load_standing import load_standing
from dunwell.operations.onboarding.logo import LOGO_PLACE, LogoMaker, find_logo
from dunwell.operations.onboarding.logo_image import DATA, ImageRefused, read_data
from dunwell.operations.onboarding.performing import perform_changes
from dunwell.operations.onboarding.reading import Source
from dunwell.operations.onboarding.report import ApplyReport
from dunwell.operations.onboarding.standing import MerchantState
from dunwell.operations.onboarding.standing_rules import find_standing_faults
from dunwell.operations.onboarding.write_file import write_file
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.errors import EditConflict, Fault, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.yaml_document import DocumentFaulty

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
    work.need(Right.CONFIGURE)
    standing = await load_standing(
        work.tx, resources.keys, work.merchant.key, lock=False, counts_claims=False
    )
    return write_file(standing)


async def plan_given(
    work: Work, resources: Resources, source: Source, surroundings: InstallationLimits,
    *, publish: bool,
) -> ApplyReport:  # fmt: skip
    """What `apply_given` would answer, secrets apart. Raises ValidationError with every fault."""
    work.need(Right.CONFIGURE)
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
    work.need(Right.CONFIGURE)
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
