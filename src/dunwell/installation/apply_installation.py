"""Apply an installation file: what it names changes, what it leaves out stays."""

from dataclasses import dataclass

import msgspec

from dunwell.errors import InvalidState
from dunwell.installation.audit import Act, save_installation_audit
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
        act = _describe(present.installation, revision)
        await save_installation_audit(tx, act, resources.clock.now(), resources.ids)
    return AppliedInstallation(revision.number, changes)


def _describe(before: Installation, revision: Revision) -> Act:
    """Nothing of it is secret: secrets are given by file name."""
    was, now = msgspec.to_builtins(before), msgspec.to_builtins(revision.installation)
    changed = [name for name in now if now[name] != was[name]]
    return Act(
        actor_kind="OPERATOR",
        actor_id=_APPLIED_BY,
        action="installation.apply",
        subject=f"installation:{revision.number}",
        before={name: was[name] for name in changed},
        after={name: now[name] for name in changed},
        origin={"face": "COMMAND_LINE"},
    )
