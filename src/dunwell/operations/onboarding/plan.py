"""Plan a merchant file: say what applying it would change, and what that would do to the claims in
process (CONTRACT 11). Reads alone, at one instant.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import UNSET

from dunwell.accounts.merchants.account import Work
from dunwell.cases.rollout.preview.effects import Progress
from dunwell.operations.onboarding.configuration import describe_gaps
from dunwell.operations.onboarding.decision import decide_changes, describe_warnings
from dunwell.operations.onboarding.opening import open_file, open_standing
from dunwell.operations.onboarding.performing import APPLY
from dunwell.operations.onboarding.preview_workflows import preview_workflows
from dunwell.operations.onboarding.report import ApplyReport
from dunwell.platform.database.database import snapshot
from dunwell.platform.resources import Resources


async def plan_file(
    resources: Resources, path: Path, *, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
    progress: Progress | None = None,
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
        gaps = describe_gaps(checked.file, checked.logo, standing.configuration)
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
