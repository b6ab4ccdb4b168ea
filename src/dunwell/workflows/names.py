"""What a workflow may be called. Pure."""

from dunwell.errors import Fault, ValidationError
from dunwell.kit.texts import is_printable


def check_workflow_name(name: str) -> None:
    """Raises ValidationError."""
    if not 1 <= len(name) <= 255 or not is_printable(name) or name != name.strip():
        message = "Use 1 to 255 printable characters without space at the ends."
        raise ValidationError([Fault("/name", message, "WRONG_FORMAT")])
