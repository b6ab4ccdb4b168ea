"""How answers are sealed as they came: each for itself, bound to its merchant and id."""

from uuid import UUID

from dunwell.platform.crypto import KeyRing

_PURPOSE = "debtor reply"


def seal_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, raw: bytes) -> bytes:
    return keys.seal(_PURPOSE, raw, _bind(merchant_id, reply_id))


def open_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, sealed: bytes) -> bytes:
    """Raises SealBroken."""
    return keys.open(_PURPOSE, sealed, _bind(merchant_id, reply_id))


def reseal_reply(keys: KeyRing, merchant_id: int, reply_id: UUID, sealed: bytes) -> bytes:
    """Raises SealBroken."""
    return keys.reseal(_PURPOSE, sealed, _bind(merchant_id, reply_id))


def _bind(merchant_id: int, reply_id: UUID) -> str:
    return f"{merchant_id}:{reply_id}"
