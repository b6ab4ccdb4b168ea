"""How answers are sealed as they came: each for itself, bound to its merchant and id."""

from uuid import UUID

from dunwell.platform.crypto import KeyRing

PURPOSE = "debtor reply"


def seal_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, raw: bytes) -> bytes:
    return keys.seal(PURPOSE, raw, bind(merchant_id, reply_id))


def open_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, sealed: bytes) -> bytes:
    """Raises SealBroken."""
    return keys.open(PURPOSE, sealed, bind(merchant_id, reply_id))


def bind(merchant_id: int, reply_id: UUID) -> str:
    """What the sealed answer is bound to."""
    return f"{merchant_id}:{reply_id}"
