"""What the messages of a previewed draft cost, before and after: for the command line, and for
whoever shows a preview.

How large a step's message is, is measured once for each step and channel, on a made-up claim in the
merchant's language: an SMS's parts are counted, a letter is printed. What a claim encloses is not
known beforehand and not priced.
"""

from collections.abc import Iterable

from dunwell.errors import Refusal
from dunwell.installation.store import load_installation
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.configuration import Channel
from dunwell.merchants.rights import Right
from dunwell.messages.letters.printer import LetterPrinter
from dunwell.rollout.costs import Costs, NamedLine, Units, add_up, list_priceable
from dunwell.rollout.outlook import Outlook
from dunwell.rollout.preview_draft import Preview
from dunwell.rollout.preview_message import Wanted, preview_message
from dunwell.workflows.definition import CommunicationStep, Definition
from dunwell.workflows.store import load_current, load_draft


async def foresee_costs(
    work: Work, resources: Resources, preview: Preview, *, printer: LetterPrinter
) -> Costs | None:
    """preview: made with `Asked(costs=True)`. None: nothing was played forward, or no line of the
    merchant's has prices."""
    work.need(Right.CONFIGURE)
    before, after = preview.effects.outlook_before, preview.effects.outlook
    workflow_id = preview.workflow_id
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    lines = await _load_lines(work)
    if before is None or after is None or current is None or draft is None:
        return None
    if not any(each.line.prices for each in lines.values()):
        return None
    sides = []
    for definition, outlook in ((current.definition, before), (draft.definition, after)):
        units = await _measure(work, resources, definition, outlook, printer=printer)
        sides.append(list_priceable(outlook.sent, units, lines))
    return add_up(*sides)


async def _load_lines(work: Work) -> dict[Channel, NamedLine]:
    lines = (await load_installation(work.tx)).installation.lines or {}
    setups = work.merchant.configuration.channels
    return {
        channel: NamedLine(setup.line, lines[setup.line])
        for channel, setup in setups.items()
        if setup.line in lines
    }


async def _measure(
    work: Work, resources: Resources, definition: Definition, outlook: Outlook,
    *, printer: LetterPrinter,
) -> Units:  # fmt: skip
    """Of the steps that contact anybody."""
    used = {(step_id, channel) for step_id, channel, _ in outlook.sent}
    units: dict[tuple[int, Channel], int | None] = {}
    for step in _list_contacts(definition):
        for channel in sorted({channel for step_id, channel in used if step_id == step.id}):
            wanted = Wanted(step.template, channel)
            units[step.id, channel] = 1
            if channel != "EMAIL":
                units[step.id, channel] = await _count_units(
                    work, resources, definition, wanted, printer=printer
                )
    return units


def _list_contacts(definition: Definition) -> Iterable[CommunicationStep]:
    return (each for each in definition.steps if isinstance(each, CommunicationStep))


async def _count_units(
    work: Work, resources: Resources, definition: Definition, wanted: Wanted,
    *, printer: LetterPrinter,
) -> int | None:  # fmt: skip
    """None: it cannot be rendered, which the draft's own checks tell."""
    try:
        message = await preview_message(work, resources, definition, wanted, printer=printer)
    except Refusal:
        return None
    if message.parts is not None:
        return message.parts.count
    return await printer.count_pages(message.pdf) if message.pdf is not None else None
