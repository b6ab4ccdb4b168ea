"""What a failure that is reported late (a bounce, a delivery report) means for a claim.

The next channel is tried at once, and the claim stands still until that is settled; a WAIT it falls
into begins anew then (CONTRACT 6). While another contact is under way nothing is begun: that one
reaches the debtor. Pure.
"""

from collections.abc import Collection
from dataclasses import dataclass

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.process import Process
from dunwell.contact.escalation.schedule import ContactPlanned, Position, Tried, find_channel
from dunwell.core.workflows.definition import CommunicationStep, WaitStep


@dataclass(frozen=True, slots=True)
class FallBackNow:
    following: ContactPlanned
    # Where the claim stands until the contact is settled: not due.
    position: Position


def decide_late_failure(
    process: Process,
    position: Position,
    failed: CommunicationStep,
    usable_channels: Collection[Channel],
    tried: Tried,
) -> FallBackNow | None:
    """None: the failure is recorded and the process goes on as it is."""
    if position.due_at is None:
        return None
    following = find_channel(failed, usable_channels, tried)
    if following is None:
        return None
    return FallBackNow(following, Position(_find_place(process, position, failed), None))


def _find_place(process: Process, position: Position, failed: CommunicationStep) -> int | None:
    """The WAIT the claim is in, which begins anew; else where it stands."""
    index = process.index_of(position.next_step_id)
    before = process.steps[index - 1] if index > process.index_of(failed.id) + 1 else None
    return before.id if isinstance(before, WaitStep) else position.next_step_id
