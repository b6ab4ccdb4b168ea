"""Open a merchant file: read it with what it names, and check it, by itself and beside the merchant
as it stands.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from dunwell.operations.onboarding.checking import CheckedFile, Surroundings, check_merchant_file
from dunwell.operations.onboarding.load_standing import load_standing
from dunwell.operations.onboarding.logo import add_logo
from dunwell.operations.onboarding.reading import read_merchant_file
from dunwell.operations.onboarding.standing import Standing
from dunwell.operations.onboarding.standing_rules import find_standing_faults
from dunwell.platform.database.database import Connection
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
        source, Surroundings(available_adapters, is_development, available_providers)
    )


async def open_standing(
    resources: Resources, tx: Connection, checked: CheckedFile, *, lock: bool
) -> Standing:
    """The merchant as it stands. Raises ValidationError with all that the file cannot change."""
    standing = await load_standing(tx, resources.keys, checked.file.key, lock=lock)
    is_development = resources.settings.is_development
    faults = list(find_standing_faults(checked, standing, is_development=is_development))
    if faults:
        raise ValidationError(faults)
    return standing
