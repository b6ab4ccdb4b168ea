"""Apply a merchant file: create or update one merchant, in one transaction (CONTRACT 11).

1. Read the file and the definitions it names; check everything it says by itself.
2. Load the merchant as it stands; check what depends on that; decide the changes (pure).
3. Unless it is a plan, perform them one after another, each with its audit row.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from dunwell.errors import ValidationError
from dunwell.kit.resources import Resources
from dunwell.onboarding.checking import CheckedFile, Surroundings, check_merchant_file
from dunwell.onboarding.decision import decide_changes
from dunwell.onboarding.logo import add_logo
from dunwell.onboarding.performing import perform_changes
from dunwell.onboarding.reading import read_merchant_file
from dunwell.onboarding.report import ApplyReport
from dunwell.onboarding.standing import Standing, load_standing
from dunwell.onboarding.standing_rules import find_standing_faults


async def apply_file(
    resources: Resources, path: Path, *, plan: bool = False, publish: bool = False,
    available_adapters: Mapping[str, Collection[str]], available_providers: Collection[str] = (),
) -> ApplyReport:  # fmt: skip
    """Make the merchant what the file says; `plan` only says what that would change.

    `available_adapters`: the installation's adapter names per channel; `available_providers`: its
    payment providers. `publish`: changed definitions become versions, not drafts. Raises
    ValidationError with every fault.
    """
    source = await add_logo(read_merchant_file(path), path)
    is_development = resources.settings.is_development
    surroundings = Surroundings(available_adapters, is_development, available_providers)
    checked = check_merchant_file(source, surroundings)
    key = checked.file.key
    async with resources.database.transaction() as tx:
        standing = await load_standing(tx, resources.keys, key, lock=not plan)
        _check_standing(checked, standing, is_development=is_development)
        changes = decide_changes(checked, standing, publish=publish)
        words = [line for change in changes for line in change.words]
        merchant_id = None if standing.merchant is None else standing.merchant.merchant_id
        if plan:
            return ApplyReport(merchant_id, key, words)
        made = await perform_changes(resources, tx, standing.merchant, changes)
    return ApplyReport(made.merchant_id, key, words, made.credentials, made.webhooks)


def _check_standing(checked: CheckedFile, standing: Standing, *, is_development: bool) -> None:
    faults = list(find_standing_faults(checked, standing, is_development=is_development))
    if faults:
        raise ValidationError(faults)
