"""Reading what gateways call back with. Pure."""

from dunwell.platform.errors import InvalidRequest


class Forged(InvalidRequest):
    """Not from the gateway of this line, as far as can be told."""


def read_text(text: str, most: int) -> str:
    """What can be kept of it, without control characters."""
    kept = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    return kept[:most]
