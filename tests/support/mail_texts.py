"""E-mails as their recipients see them."""

from email import message_from_bytes
from email.policy import default


def read_email(content: bytes) -> str:
    """Return headers, plain text and names of attachments, one per line."""
    message = message_from_bytes(content, policy=default)
    body = message.get_body(("plain",))
    assert body is not None
    names = [part.get_filename("") for part in message.iter_attachments()]
    lines = [f"{name}: {value}" for name, value in message.items()]
    return "\n".join([*lines, "", str(body.get_content()), *names])
