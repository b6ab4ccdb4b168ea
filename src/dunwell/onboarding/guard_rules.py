"""What a merchant file may say of the guards, beyond their shape. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.errors import Fault
from dunwell.kit.shape import read_if_fits
from dunwell.messages.quiet_rules import is_all_quiet
from dunwell.onboarding.file import GuardsPart, ScenarioPart, find_process_key
from dunwell.workflows.definition import ContactHours

_PATH = "/guards/quietHours"


def find_guard_faults(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[Fault]:
    """`definitions`: those in files of their own, by place. Parts of another shape are left out:
    the schema has reported them."""
    guards = read_if_fits(document.get("guards"), GuardsPart)
    quiet = guards.quiet_hours if guards is not None else None
    if quiet is None:
        return
    # HH:MM: text order is time order.
    if quiet.since == quiet.until or (quiet.since, quiet.until) == ("00:00", "24:00"):
        message = "Nobody would ever be sent an e-mail or SMS; leave some hours of the day."
        yield Fault(f"{_PATH}/to", message, "EMPTY_HOURS")
        return
    for name, hours in _find_contact_hours(document, definitions):
        if is_all_quiet(quiet, hours):
            message = f'All contact hours of "{name}" are quiet; its e-mails would never go out.'
            yield Fault(_PATH, message, "EMPTY_HOURS")


def _find_contact_hours(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[tuple[str, ContactHours]]:
    """Of the file's processes in the merchant's own zone."""
    parts = read_if_fits(document.get(find_process_key(document)), list[ScenarioPart]) or []
    for index, part in enumerate(parts):
        definition = definitions.get(index, part.definition)
        settings = definition.get("settings") if isinstance(definition, dict) else None
        if not isinstance(settings, dict):
            continue
        hours = read_if_fits(settings.get("contactHours"), ContactHours)
        zone = document.get("timezone")
        if hours is not None and settings.get("timezone", zone) == zone:
            yield part.name, hours
