"""Definitions of one workflow. Variants differ by a minor change, shapes by a major change.

Every text contains the definition's tag, so that a message shows from which version it was
rendered.
"""

import copy
from typing import Any

from dunwell.core.workflows.definition import Definition
from tests.support.channels import TEMPLATE
from tests.support.definitions import DOCUMENT, a_definition

SHAPES = 4
VARIANTS = 4
_SETTINGS = {**DOCUMENT["settings"], "latePolicy": {"skipIfOlderThanDays": 30}}


def a_variant(shape: int, variant: int, tag: str) -> Definition:
    """Return a definition. Definitions of the same shape have the same steps; each tag is a change
    of text."""
    return a_definition(
        settings=_SETTINGS,
        steps=[*_beginning(shape, variant), *_ending(shape, variant)],
        templates={"reminder": tagged(tag)},
    )


def read_tag(text: str) -> str:
    """Return the tag of the definition from which a message was rendered."""
    return text.rsplit("[", 1)[1].split("]", maxsplit=1)[0]


def _beginning(shape: int, variant: int) -> list[dict[str, Any]]:
    return [
        _contact(1, "EMAIL", variant) | ({"send": "IMMEDIATE"} if variant == 2 else {}),
        {"id": 2, "name": "Wait", "kind": "WAIT", "days": 2 + shape},
        {
            "id": 3, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE",
            "value": str(250 + variant),
        },
        {
            "id": 4, "name": "Tell", "kind": "CHECKPOINT", "offset": variant,
            "message": f"variant {variant}",
        },
    ]  # fmt: skip


def _ending(shape: int, variant: int) -> list[dict[str, Any]]:
    guard = {"when": {"outstanding": {"min": "5000"}}} if shape % 2 else {}
    return [
        _contact(5, "SMS", variant) | guard,
        {"id": 6, "name": "Wait", "kind": "WAIT", "businessDays": 2},
        *([_contact(7, "EMAIL", variant)] if shape > 1 else []),
        {"id": 8, "name": "End", "kind": "CHECKPOINT", "offset": 1, "message": "end"},
    ]


def _contact(step_id: int, channel: str, variant: int) -> dict[str, Any]:
    other = {"EMAIL": "SMS", "SMS": "EMAIL"}[channel]
    if variant == 3:
        channel, other = other, channel
    fallbacks = [] if variant == 1 else [other]
    return {
        "id": step_id, "name": f"Contact {step_id}", "kind": "COMMUNICATION",
        "channel": channel, "fallbacks": fallbacks, "template": "reminder",
    }  # fmt: skip


def tagged(tag: str) -> dict[str, Any]:
    template = copy.deepcopy(TEMPLATE)
    for channel in template.values():
        channel["body"] = {lang: f"{text} [{tag}]" for lang, text in channel["body"].items()}
    return template
