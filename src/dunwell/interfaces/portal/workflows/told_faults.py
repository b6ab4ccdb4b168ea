"""What keeps a draft from being published, each with the page on which it is put right. Pure."""

from collections.abc import Sequence

import msgspec

from dunwell.core.workflows.definition import Definition, Step
from dunwell.core.workflows.text_places import Place, find_place
from dunwell.platform.errors import Fault


class ToldFault(msgspec.Struct, frozen=True, gc=False):
    """step, place: the step or the text that it is about; None: another part's."""

    fault: Fault
    step: Step | None
    place: Place | None


def tell_faults(definition: Definition, faults: Sequence[Fault]) -> list[ToldFault]:
    languages = definition.settings.languages
    return [
        ToldFault(each, _find_step(definition, each.path), find_place(each.path, languages))
        for each in faults
    ]


def _find_step(definition: Definition, pointer: str) -> Step | None:
    group, _, rest = pointer.removeprefix("/").partition("/")
    number = rest.partition("/")[0]
    if group != "steps" or not number.isdecimal() or int(number) >= len(definition.steps):
        return None
    return definition.steps[int(number)]
