"""What the workflows (or scenarios) and rules of a merchant file must keep.

A fault in an inline definition is pointed at in the merchant file; one in a file of its own has the
pointer of the `file` key, and the place within that file in its words. Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.cases.assignment.checking import find_rule_faults
from dunwell.contact.messages.checking import find_template_faults
from dunwell.core.workflows.checking import check_workflow_name, find_definition_faults
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.definition_rules import find_repeats
from dunwell.operations.onboarding.file import find_process_key
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import read_if_fits


def find_process_faults(
    document: Mapping[str, Any], definitions: Mapping[int, Any]
) -> Iterator[Fault]:
    """`definitions`: those that stand in files of their own, by place among the processes."""
    key = find_process_key(document)
    processes = document.get(key)
    entries = processes if isinstance(processes, list) else []
    for index, entry in enumerate(entries):
        if isinstance(entry, dict):
            yield from _find_entry_faults(entry, f"/{key}/{index}", definitions.get(index))
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    for fault in find_repeats(_distinguish(names), f"/{key}"):
        yield Fault(f"{fault.path}/name", fault.message, fault.code)
    yield from _find_world_faults(document)
    rules = document.get("assignmentRules")
    if isinstance(rules, dict):
        for fault in find_rule_faults(rules):
            yield Fault(f"/assignmentRules{fault.path}", fault.message, fault.code)


def _find_world_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """A merchant works with workflows or, until it is switched, with scenarios."""
    if document.get("workflows") and document.get("scenarios"):
        message = "A merchant has workflows or scenarios; remove one of the two."
        yield Fault("/scenarios", message, "WORKFLOWS_OR_SCENARIOS")
    if document.get("switchedToWorkflows") is False and document.get("workflows"):
        message = 'A merchant on scenarios has no workflows; name them "scenarios", or switch it.'
        yield Fault("/workflows", message, "NOT_SWITCHED")
    if document.get("switchedToWorkflows") is True and document.get("scenarios"):
        message = 'A merchant on workflows has no scenarios; name them "workflows".'
        yield Fault("/scenarios", message, "SWITCHED")


def _distinguish(names: list[Any]) -> list[object]:
    """Names as they are; what is no name repeats nothing."""
    return [name if isinstance(name, str) else object() for name in names]


def _find_entry_faults(entry: Mapping[str, Any], path: str, loaded: Any) -> Iterator[Fault]:
    yield from _find_name_faults(entry.get("name"), path)
    if ("definition" in entry) == ("file" in entry):
        message = 'Give exactly one of "definition" and "file".'
        yield Fault(path, message, "DEFINITION_OR_FILE")
        return
    if "definition" in entry:
        yield from (
            point_at(fault, path, is_inline=True) for fault in _find_all(entry["definition"])
        )
    elif loaded is not None:
        yield from (point_at(fault, path, is_inline=False) for fault in _find_all(loaded))


def point_at(fault: Fault, path: str, *, is_inline: bool) -> Fault:
    """A definition's fault as one of the merchant file; `path` is the process's place in it."""
    if is_inline:
        return Fault(f"{path}/definition{fault.path}", fault.message, fault.code)
    place = fault.path or "The whole"
    return Fault(f"{path}/file", f"{place}: {fault.message}", fault.code)


def _find_name_faults(name: Any, path: str) -> Iterator[Fault]:
    if not isinstance(name, str):
        return
    try:
        check_workflow_name(name)
    except ValidationError as refusal:
        for fault in refusal.faults:
            yield Fault(path + fault.path, fault.message, fault.code)


def _find_all(document: Any) -> list[Fault]:
    """Faults of a definition, those of its texts' placeholders included."""
    faults = find_definition_faults(document)
    definition = read_if_fits(document, Definition)
    if definition is not None:
        faults += find_template_faults(definition)
    return faults
