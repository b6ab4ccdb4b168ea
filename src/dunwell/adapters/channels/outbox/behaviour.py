"""How the outbox can be told to behave badly, for rehearsals: by the recipient's address.

An e-mail address whose local part ends in `+fail` fails for good, a mobile number that ends in
000002 does, and so does a letter with an address line that ends in `+fail`. Pure.
"""

from enum import StrEnum

from dunwell.accounts.merchants.configuration import Channel


class Behaviour(StrEnum):
    # For now: tried again with growing pauses.
    REFUSE = "refuse"
    FAIL = "fail"
    # Accepted; reported as undeliverable soon after.
    FAIL_LATER = "fail-later"
    # No answer at all.
    HANG = "hang"
    # The message is written, and the process dies before it can say so. Once per message.
    DIE = "die"


_BY_DIGITS = {
    "000001": Behaviour.REFUSE,
    "000002": Behaviour.FAIL,
    "000003": Behaviour.FAIL_LATER,
    "000004": Behaviour.HANG,
    "000005": Behaviour.DIE,
}
# They cost others of the installation something: slots, or the process.
_FOR_DEVELOPMENT = frozenset({Behaviour.HANG, Behaviour.DIE})


def find_behaviour(
    channel: Channel, recipient: str, *, is_sandbox: bool, is_development: bool
) -> Behaviour | None:
    """None, the usual: take the message and accept it."""
    if not (is_sandbox or is_development):
        return None
    behaviour = _read(channel, recipient)
    return behaviour if is_development or behaviour not in _FOR_DEVELOPMENT else None


def _read(channel: Channel, recipient: str) -> Behaviour | None:
    if channel == "SMS":
        return _BY_DIGITS.get(recipient[-6:])
    texts = [recipient.rpartition("@")[0]] if channel == "EMAIL" else recipient.splitlines()
    told = (each for each in Behaviour for text in texts if text.endswith(f"+{each}"))
    return next(told, None)
