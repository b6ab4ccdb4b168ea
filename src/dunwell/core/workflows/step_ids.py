"""Step ids are never reused (CONTRACT 6): an id stands for one kind of step for good.

Events name a step by its id, and a claim under way keeps its place by it. A step may be taken out
and come back; what does something else is another step and takes an id of its own. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from dunwell.core.workflows.definition import Definition, Step
from dunwell.platform.errors import Fault


@dataclass(frozen=True, slots=True)
class KnownStep:
    """What an id stood for in a published version."""

    kind: str
    name: str
    version: str


def kind_of(step: Step) -> str:
    """What `kind` says on the wire."""
    return str(step.__struct_config__.tag)


def find_reused_ids(known: Mapping[int, KnownStep], definition: Definition) -> list[Fault]:
    """Faults for the steps whose id stood for another kind in any published version."""
    taken = {*known, *(step.id for step in definition.steps)}
    free_id = next(number for number in count(1) if number not in taken)
    faults = []
    for index, step in enumerate(definition.steps):
        before, kind = known.get(step.id), kind_of(step)
        if before is not None and before.kind != kind:
            message = (
                f'The id {step.id} was that of "{before.name}" ({before.kind}, {before.version}) '
                f"and stays with it; give this {kind} step a new one, such as {free_id}."
            )
            faults.append(Fault(f"/steps/{index}/id", message, "ID_REUSED"))
    return faults
