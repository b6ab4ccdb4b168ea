"""Report security events (mostly refused attempts) to operators: a log line and a metric for each.

A line has the type of the event and, if there is one, the request's id. It never has a visitor's
address or the text that a visitor entered.
"""

from typing import Literal, TypeAlias

import structlog
from prometheus_client import Counter

from dunwell.platform.metrics import REGISTRY

SecurityEvent: TypeAlias = Literal[
    # A wrong client secret, for any client id.
    "SIGN_IN_FAILED",
    # Too many wrong client secrets from one visitor, whose secrets are not checked for a while.
    "SIGN_IN_LOCKED",
    # A visitor has to wait before entering the next code from a letter.
    "LETTER_CODE_SLOWED",
    # Facts and codes of a claim are not accepted for a while, or until there is a new link.
    "CLAIM_LOCKED",
    # A link was opened too often.
    "LINK_LOCKED",
    # A wrong password, code or passkey at the portal's sign-in, or an identity provider's assertion
    # for a user without access.
    "PORTAL_SIGN_IN_FAILED",
    # Ten failed sign-ins with one name or from one address, whose sign-ins are not checked for a
    # while.
    "PORTAL_LOCKED",
    # Someone knows a user's password and entered ten wrong codes within 24 hours.
    "PORTAL_SECOND_FACTOR_LOCKED",
    # An admin with emergency access signed in, which is not normal while single sign-on works.
    "BREAK_GLASS_USED",
    # A sign-out notification that the identity provider did not sign, or had already sent.
    "LOGOUT_FORGED",
    # A notification of a payment provider or a request of an SMS gateway that is not authenticated.
    "CALLBACK_FORGED",
    # The address of a webhook or provider is in a range to which connections are refused.
    "ADDRESS_REFUSED",
]
_EVENTS = Counter(
    "dunwell_security_events",
    "Refused attempts, by type.",
    ("type",), registry=REGISTRY,
)  # fmt: skip
_log = structlog.get_logger("dunwell.security")


def log_security_event(event: SecurityEvent, **fields: object) -> None:
    """Write a log line and count the event. `fields` are those that `platform.logging` allows."""
    _EVENTS.labels(event).inc()
    _log.warning("security event", type=event, **fields)
