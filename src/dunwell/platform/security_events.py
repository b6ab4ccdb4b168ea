"""Tells operators of what somebody tried and was not let: a line in the log and a figure for each.

A line names what happened and, where there is one, the request: never a visitor's address, nor what
a stranger typed.
"""

from typing import Literal, TypeAlias

import structlog
from prometheus_client import Counter

from dunwell.platform.metrics import REGISTRY

SecurityEvent: TypeAlias = Literal[
    # A client secret that is wrong, of any client id.
    "SIGN_IN_FAILED",
    # A visitor's client secrets are looked at no more for a while.
    "SIGN_IN_LOCKED",
    # A visitor has to wait before the next letter's code.
    "LETTER_CODE_SLOWED",
    # Facts and sent codes of a claim are taken no more for a while, or until a new link.
    "CLAIM_LOCKED",
    # A link was opened too often.
    "LINK_LOCKED",
    # A wrong password, code or passkey of somebody who signs in to the portal, or a provider's word
    # for somebody who may not.
    "PORTAL_SIGN_IN_FAILED",
    # Ten of them, by one name or from one place: none is looked at for a while.
    "PORTAL_LOCKED",
    # Someone knows a user's password and entered ten wrong codes within 24 hours.
    "PORTAL_SECOND_FACTOR_LOCKED",
    # A break-glass admin signed in: nobody does while single sign-on works.
    "BREAK_GLASS_USED",
    # A provider's notice that somebody went there, which the provider did not sign, or sent before.
    "LOGOUT_FORGED",
    # A payment provider's notice that the provider did not sign.
    "CALLBACK_FORGED",
    # A webhook's or a provider's address lies in a range that is not connected to.
    "ADDRESS_REFUSED",
]
_EVENTS = Counter(
    "dunwell_security_events",
    "What somebody tried and was not let, by type.",
    ("type",), registry=REGISTRY,
)  # fmt: skip
_log = structlog.get_logger("dunwell.security")


def log_security_event(event: SecurityEvent, **fields: object) -> None:
    """Write a log line and count the event. `fields` are those that `platform.logging` allows."""
    _EVENTS.labels(event).inc()
    _log.warning("security event", type=event, **fields)
