"""A person says what became of letters that may have been released in a time that was lost.

Released: nothing more is done with them. Not released: those whose files are there go on with the
next batch; those whose files are gone did not leave, and the next channel is tried.
"""

from collections.abc import Sequence

from dunwell.accounts.installation.audit_log import InstallationAct, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.batches.after_restore.store import (
    Key,
    clear_asked,
    mark_gone,
    mark_released_before,
)
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import save_reports
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

GONE = "its files were gone after a restore, and it was not printed"


async def resolve_doubted_letters(
    tx: Connection, actor: Actor, resources: Resources, *,
    line: str, keys: Sequence[Key], was_released: bool,
) -> int:  # fmt: skip
    """Of how many; what somebody else has settled meanwhile stays as it is."""
    check_right(actor, Right.OPERATE)
    real_now = resources.clock.now()
    if was_released:
        settled = await mark_released_before(tx, line, keys)
    else:
        gone = await mark_gone(tx, line, keys)
        reports = [
            Report(
                line=line,
                provider_id=f"{reference}/gone",
                state="FAILED",
                happened_at=real_now,
                reference=Reference(merchant_id, communication_id),
                reason=GONE,
                cause="OTHER",
                raw=b"",
            )
            for merchant_id, communication_id, reference in gone
        ]
        await save_reports(tx, reports, real_now=real_now, ids=resources.ids)
        settled = len(gone) + await clear_asked(tx, line, keys, real_now)
    if settled:
        act = InstallationAct(
            actor_kind=actor.kind,
            actor_id=actor.actor_id,
            action="letters.settle",
            subject=f"line:{line}",
            after={"released": was_released, "letters": settled},
            origin=None if actor.origin is None else actor.origin.as_json(),
        )
        await save_installation_audit(tx, act, real_now, resources.ids)
    return settled
