"""Send a text to oneself before debtors get it: to the e-mail address of whoever has signed in, and
to no other. It counts as nothing: no contact, no row of the ledger, no guard; its link and its
codes lead nowhere, and its subject says that it is a test.
"""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from dunwell.errors import Fault, InvalidState, RateLimited, ValidationError
from dunwell.escalation.compose_contact import make_message
from dunwell.kit.attempts import count_attempt, load_attempts
from dunwell.kit.crypto import KeyRing
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import ActorKind
from dunwell.merchants.audit import save_audit
from dunwell.merchants.rights import Right
from dunwell.people.store import load_user
from dunwell.rollout.preview_message import Wanted, write_wanted
from dunwell.sending.channel import Message
from dunwell.workflows.definition import Definition

# In an hour, to one person.
MOST_TRIALS = 20
_WINDOW = timedelta(hours=1)
_COUNTED = "trial-messages"
_MARK = "[Test] "
# What comes back of it belongs to no claim.
_NO_CLAIM = 0


async def begin_trial(
    work: Work, resources: Resources, definition: Definition, wanted: Wanted, *, about: str
) -> Message:
    """In the transaction before it is sent (`Adapters.call`). about: what the audit log names.

    Raises what `write_wanted` raises; ValidationError where oneself has no address for the channel;
    InvalidState where the merchant sends no e-mail; RateLimited."""
    work.need(Right.CONFIGURE)
    if wanted.channel != "EMAIL":
        only = "A user has an e-mail address alone; look at the preview instead."
        raise ValidationError([Fault("/channel", only, "NO_ADDRESS")])
    if "EMAIL" not in work.merchant.configuration.channels:
        no_line = "The merchant has no channel for e-mail; name one in its file."
        raise InvalidState(no_line, state="NO_CHANNEL")
    recipient = await _find_own_address(work)
    await _count(work, resources.keys)
    trial_id = work.ids.new(work.real_now)
    written = await write_wanted(work, resources, definition, wanted, contact_id=trial_id)
    rendered, head = written.rendered, written.writer.head
    message = make_message(head, rendered.planned.contact, rendered.content, work.now)
    await save_audit(
        work, "text.send_trial", about,
        template=wanted.template, channel=wanted.channel, trialId=str(trial_id),
    )  # fmt: skip
    return replace(
        message,
        claim_id=_NO_CLAIM,
        recipient=recipient,
        subject=f"{_MARK}{message.subject or ''}",
        unsubscribe_url=None,
    )


async def _find_own_address(work: Work) -> str:
    """Of the user who acts. Raises InvalidState for whoever is none."""
    actor = work.actor
    user = None
    if actor.kind is ActorKind.USER and actor.actor_id:
        user = await load_user(work.tx, UUID(actor.actor_id))
    if user is None:
        words = "A test goes to whoever has signed in to the portal; sign in there."
        raise InvalidState(words, state="NO_USER")
    return user.email


async def _count(work: Work, keys: KeyRing) -> None:
    """Raises RateLimited. Those at once take turns, so that they are no more either."""
    assert work.actor.actor_id is not None
    subject = keys.digest(_COUNTED, UUID(work.actor.actor_id).bytes, min(keys.versions))
    known = await load_attempts(work.tx, subject)
    if known is not None and known.first_at + _WINDOW <= work.real_now:
        known = None
    if known is not None and known.count >= MOST_TRIALS:
        wait = known.first_at + _WINDOW - work.real_now
        words = f"You have sent {MOST_TRIALS} tests within an hour. Try again later."
        raise RateLimited(words, retry_after=int(wait.total_seconds()) + 1)
    await count_attempt(work.tx, subject, known, work.real_now)
