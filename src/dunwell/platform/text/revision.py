"""The revision of something that people edit. A form carries it, and saving compares it with what
is stored, so that nobody overwrites a change that they have not seen. Pure.
"""

import hashlib

import msgspec


def compute_revision(value: object) -> str:
    """Different for each content, and the same for the same content; None: it does not exist."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]
