"""Compute what the messages of a previewed draft cost, before and after.

The facts are loaded in the preview's transaction; messages are rendered and printed after it. The
size of a step's message is measured once per channel on a sample claim in the merchant's language:
the parts of an SMS are counted, and a letter is printed. Enclosures differ by claim, so they are
not priced.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.costs import (
    PreviewCosts,
    PricedProvider,
    Units,
    compute_costs,
    list_priceable,
)
from dunwell.cases.rollout.preview.effects import PreviewOutlook, SentKey
from dunwell.cases.rollout.preview.preview_draft import DraftPreview
from dunwell.cases.rollout.preview.preview_message import (
    PreparedMessage,
    WantedMessage,
    prepare_message,
    render_preview,
)
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class _PreparedSide:
    """What a definition sends within the previewed days, and its message for each step and channel.
    None stands for a message that cannot be rendered, which the draft's own checks report."""

    sent: Mapping[SentKey, int]
    messages: Mapping[tuple[int, Channel], PreparedMessage | None]


@dataclass(frozen=True, slots=True)
class PreparedCosts:
    before: _PreparedSide
    after: _PreparedSide
    providers: Mapping[Channel, PricedProvider]


async def prepare_costs(
    work: Work, resources: Resources, preview: DraftPreview
) -> PreparedCosts | None:
    """Load the facts for a preview with `PreviewScope(costs=True)`. Return None if no days were
    previewed or no delivery provider of the merchant has prices."""
    work.require(Right.CONFIGURE)
    before, after = preview.effects.outlook_before, preview.effects.outlook
    workflow_id = preview.workflow_id
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    providers = await _load_providers(work)
    if before is None or after is None or current is None or draft is None:
        return None
    if not any(each.provider.prices for each in providers.values()):
        return None
    return PreparedCosts(
        await _prepare_side(work, resources, current.definition, before),
        await _prepare_side(work, resources, draft.definition, after),
        providers,
    )


async def compute_preview_costs(prepared: PreparedCosts, *, printer: LetterPrinter) -> PreviewCosts:
    """Compute the costs, outside any transaction."""
    sides = [
        list_priceable(each.sent, await _measure(each, printer), prepared.providers)
        for each in (prepared.before, prepared.after)
    ]
    return compute_costs(*sides)


async def compute_preview_costs_with_own_printer(
    prepared: PreparedCosts, fonts: Sequence[Path]
) -> PreviewCosts:
    """Compute the costs with a printer that is opened for this preview, outside any transaction."""
    printer = LetterPrinter(1, fonts=fonts)
    try:
        return await compute_preview_costs(prepared, printer=printer)
    finally:
        await printer.close()


async def _load_providers(work: Work) -> dict[Channel, PricedProvider]:
    providers = (await load_installation(work.tx)).installation.delivery_providers or {}
    setups = work.merchant.configuration.channels
    return {
        channel: PricedProvider(setup.provider, providers[setup.provider])
        for channel, setup in setups.items()
        if setup.provider in providers
    }


async def _prepare_side(
    work: Work, resources: Resources, definition: Definition, outlook: PreviewOutlook
) -> _PreparedSide:
    """Prepare the messages of the steps that contact debtors."""
    used = {(step_id, channel) for step_id, channel, _ in outlook.sent}
    messages: dict[tuple[int, Channel], PreparedMessage | None] = {}
    for step in _list_contacts(definition):
        for channel in sorted({channel for step_id, channel in used if step_id == step.id}):
            wanted = WantedMessage(step.template, channel)
            try:
                message = await prepare_message(work, resources, definition, wanted)
            except Refusal:
                messages[step.id, channel] = None
            else:
                messages[step.id, channel] = message
    return _PreparedSide(outlook.sent, messages)


async def _measure(side: _PreparedSide, printer: LetterPrinter) -> Units:
    """Render each message once, and return its size."""
    units: dict[tuple[int, Channel], int | None] = {}
    for (step_id, channel), message in side.messages.items():
        units[step_id, channel] = 1 if channel == "EMAIL" else await _count_units(message, printer)
    return units


def _list_contacts(definition: Definition) -> Iterable[ContactStep]:
    return (each for each in definition.steps if isinstance(each, ContactStep))


async def _count_units(prepared: PreparedMessage | None, printer: LetterPrinter) -> int | None:
    """Return the number of parts of an SMS, or of pages of a letter, each of which counts as a
    sheet. Return None if the message cannot be rendered."""
    if prepared is None:
        return None
    try:
        message = await render_preview(prepared, printer=printer)
    except Refusal:
        return None
    return message.parts.count if message.parts is not None else message.pages
