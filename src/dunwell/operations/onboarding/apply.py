"""Apply a merchant file: create or update one merchant, in one transaction (CONTRACT 11).

1. Read the file and the definitions it names; check everything it says by itself.
2. Load the merchant as it stands; check what depends on that; decide the changes (pure).
3. Perform them one after another, each with its audit row.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import UNSET

from dunwell.operations.onboarding.checking import CheckedFile
from dunwell.operations.onboarding.configuration import describe_gaps
from dunwell.operations.onboarding.decision import decide_changes, describe_warnings
from dunwell.operations.onboarding.opening import open_file, open_standing
from dunwell.operations.onboarding.performing import perform_changes
from dunwell.operations.onboarding.report import ApplyReport
from dunwell.platform.resources import Resources


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
        gaps=describe_gaps(checked.file, checked.logo, standing.configuration),
        warnings=describe_warnings(checked) or UNSET,
    )
