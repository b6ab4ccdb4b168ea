"""What stands in a message for its secrets is shown as dots."""

from dunwell.messages.codes import CODE_MASK
from dunwell.messages.facts import CHECK_MASK
from dunwell.messages.links import TOKEN_MASK

_MASKS = (TOKEN_MASK, CODE_MASK, CHECK_MASK)


def hide_secrets(text: str) -> str:
    """A message's text, or its HTML, without its masks. In templates: `text | masked`."""
    for mask in _MASKS:
        text = text.replace(mask, "…")
    return text
