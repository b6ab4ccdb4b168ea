"""Contact hours of which a merchant's quiet hours leave nothing: what waits for them would wait for
ever. Pure.
"""

from collections.abc import Iterator
from typing import Protocol

from dunwell.errors import Fault
from dunwell.merchants.configuration import Configuration
from dunwell.workflows.definition import ContactHours, Definition


class Hours(Protocol):
    """HH:MM; text order is time order. Past midnight when `until` is before `since`."""

    @property
    def since(self) -> str: ...

    @property
    def until(self) -> str: ...


def find_quiet_faults(configuration: Configuration, definition: Definition) -> Iterator[Fault]:
    """A fault with a pointer from the definition's root. Hours of another zone are not compared:
    they lie differently in summer and in winter."""
    quiet, settings = configuration.guards.quiet_hours, definition.settings
    if quiet is None or settings.contact_hours is None:
        return
    if settings.timezone not in (None, configuration.timezone):
        return
    if is_all_quiet(quiet, settings.contact_hours):
        message = (
            f"The merchant's quiet hours ({quiet.since} to {quiet.until}) leave nothing of these; "
            "e-mails and SMS would never go out."
        )
        yield Fault("/settings/contactHours", message, "EMPTY_HOURS")


def is_all_quiet(quiet: Hours, hours: ContactHours) -> bool:
    if quiet.since < quiet.until:
        return quiet.since <= hours.since and hours.until <= quiet.until
    return quiet.since <= hours.since or hours.until <= quiet.until
