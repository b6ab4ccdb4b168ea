"""What a mail server's answer means for a message. What is told of it names no personal data: the
server's words are kept without addresses, and a refusal is told by its codes alone. Pure.
"""

import re

from dunwell.adapters.mail.failure_codes import read_status
from dunwell.contact.sending.channel import Outcome, Permanent, Temporary

# Nothing is wrong with the message: the server does not let us in, which an operator has to repair.
NOT_LET_IN_SECONDS = 300
_ABOUT_US = (530, 534, 535, 538)
_ENHANCED = re.compile(r"\s*([245]\.\d{1,3}\.\d{1,3})\b")
_ADDRESS = re.compile(r"[^\s<>\"]+@[^\s<>\"]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")
_LONGEST = 200


def decide_refusal(code: int, text: str, *, of_sender: bool = False) -> Outcome:
    """Of an answer that says that the message was not taken. of_sender: before its recipient was
    named."""
    if code in _ABOUT_US:
        return refuse_login(code, text)
    if 500 <= code < 600:
        words = f"The mail server refused it: {render_code(code, text)}."
        enhanced = _ENHANCED.match(text)
        told = read_status(enhanced[1]) if enhanced else None
        if told is None or (of_sender and told.cause == "ADDRESS"):
            return Permanent(words)
        return Permanent(words, told.cause)
    return Temporary(reason=f"The mail server put it off: {render_code(code, text)}.")


def refuse_login(code: int, text: str) -> Temporary:
    reason = f"The mail server does not let us in: {render_code(code, text)}."
    return Temporary(NOT_LET_IN_SECONDS, reason)


def is_about_us(code: int) -> bool:
    """Whether the server lets us in no more, whatever we bring."""
    return code in _ABOUT_US


def render_code(code: int, text: str) -> str:
    """As "550 5.1.1"."""
    enhanced = _ENHANCED.match(text)
    return f"{code} {enhanced[1]}" if enhanced else str(code)


def render_answer(code: int, text: str) -> str:
    """What the server said of a message it took: its id there, which its log knows."""
    words = _CONTROLS.sub(" ", text).strip()
    return f"{code} {_ADDRESS.sub('...', words)}"[:_LONGEST]
