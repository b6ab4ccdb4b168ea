"""Merchants with compactly written workflows, for tests of complete claim lifecycles."""

from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import ChannelSetup, Configuration, Guards
from dunwell.core.workflows.definition import Definition
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import CHANNELS, TEMPLATE, three_channels
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.timeline import berlin

FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}


def contact(channel: str = "EMAIL", *fallbacks: str, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "COMMUNICATION", "channel": channel, "fallbacks": list(fallbacks),
        "template": "reminder", **changes,
    }  # fmt: skip


def wait(days: int) -> dict[str, Any]:
    return {"kind": "WAIT", "days": days}


def business_days(count: int) -> dict[str, Any]:
    return {"kind": "WAIT", "businessDays": count}


def checkpoint(message: str, **changes: Any) -> dict[str, Any]:
    return {"kind": "CHECKPOINT", "offset": 1, "message": message, **changes}


def a_workflow(*steps: dict[str, Any], **settings: Any) -> Definition:
    """Return a workflow. Its steps are numbered from 1 unless they have a number; a setting of None
    is left out."""
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    all_settings = {**DOCUMENT["settings"], **settings}
    kept = {name: value for name, value in all_settings.items() if value is not None}
    return a_definition(steps=numbered, settings=kept, templates={"reminder": TEMPLATE})


async def a_lifecycle_harness(
    resources: Resources,
    clock: MovableClock,
    definition: Definition,
    start: str = "2026-03-02 10:00",
    guards: Guards | None = None,
) -> Harness:
    """Return a merchant with three channels, starting on a Monday morning in Berlin unless another
    time is given."""
    clock.move_to(berlin(start))
    return await a_harness(
        resources, clock, definition,
        configuration=_configure(guards or Guards()), channels=three_channels(),
    )  # fmt: skip


def _configure(guards: Guards) -> Configuration:
    setups: Any = {name: ChannelSetup(adapter="outbox") for name in CHANNELS}
    return msgspec.structs.replace(CONFIGURATION, channels=setups, guards=guards)
