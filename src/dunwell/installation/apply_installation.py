"""Apply an installation file: what it names changes, what it leaves out stays."""

from dataclasses import dataclass

from dunwell.errors import InvalidState
from dunwell.installation.document import Installation, list_changes, merge
from dunwell.installation.store import Revision, load_installation, save_installation
from dunwell.kit.resources import Resources

_APPLIED_BY = "dunwell apply"


@dataclass(frozen=True, slots=True)
class AppliedInstallation:
    """The number of the revision in force, and what changed, in lines for a person."""

    revision: int
    changes: list[str]


async def plan_installation(resources: Resources, given: Installation) -> AppliedInstallation:
    """What applying it would change."""
    async with resources.database.connection() as connection:
        present = await load_installation(connection)
    after = merge(present.installation, given)
    return AppliedInstallation(present.number, list_changes(present.installation, after))


async def apply_installation(resources: Resources, given: Installation) -> AppliedInstallation:
    """Raises InvalidState when somebody else applied one at the same moment."""
    async with resources.database.transaction() as tx:
        present = await load_installation(tx)
        after = merge(present.installation, given)
        changes = list_changes(present.installation, after)
        if not changes:
            return AppliedInstallation(present.number, changes)
        revision = Revision(present.number + 1, after)
        is_saved = await save_installation(
            tx, revision, applied_at=resources.clock.now(), applied_by=_APPLIED_BY
        )
        if not is_saved:
            raise InvalidState(
                "Another installation file was applied meanwhile. Look, and apply yours again.",
                state="CHANGED",
            )
    return AppliedInstallation(revision.number, changes)
