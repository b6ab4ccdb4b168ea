"""Creates a merchant of whom only the name is known yet, by the rules of the merchant file."""

from typing import Any

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.disputes.answer_texts import add_answer_text, list_answer_texts
from dunwell.operations.onboarding.checking import Surroundings, check_merchant_file
from dunwell.operations.onboarding.copy_processes import deactivate_copied, load_processes_to_copy
from dunwell.operations.onboarding.counterpart import write_counterpart_settings
from dunwell.operations.onboarding.decision import decide_changes
from dunwell.operations.onboarding.load_standing import load_standing
from dunwell.operations.onboarding.performing import perform_changes
from dunwell.operations.onboarding.reading import Source
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources


async def open_merchant(
    resources: Resources, tx: Connection, actor: Actor,
    *, document: dict[str, Any], surroundings: Surroundings, beside: Merchant | None = None,
) -> int:  # fmt: skip
    """The new merchant's id. `document`: key, name, language, timezone, currency, sandbox.
    `beside`: the counterpart, whose settings it begins with; a live merchant gets the workflows,
    templates and rules of its sandbox too. Raises ValidationError with every fault; one of them:
    the key is taken."""
    check_right(actor, Right.CONFIGURE)
    logo = beside.configuration.brand.logo if beside else None
    settings = write_counterpart_settings(beside) if beside else {}
    source = Source({**settings, **document}, {}, [], logo)
    try:
        checked = check_merchant_file(source, surroundings)
    except ValidationError as refusal:
        if all(fault.path != "/key" for fault in refusal.faults):
            taken = await _find_taken(tx, resources, document["key"])
            raise ValidationError([*taken, *refusal.faults]) from None
        raise
    taken = await _find_taken(tx, resources, checked.file.key)
    if taken:
        raise ValidationError(taken)
    standing = await load_standing(tx, resources.keys, checked.file.key, lock=False)
    changes = [*decide_changes(checked, standing, publish=False)]
    if beside is None or not beside.is_sandbox or document["sandbox"]:
        return (
            await perform_changes(resources, tx, None, changes=changes, actor=actor)
        ).merchant_id
    copied = await load_processes_to_copy(tx, beside.merchant_id)
    changes += copied.changes
    made = await perform_changes(resources, tx, None, changes=changes, actor=actor)
    merchant = await load_merchant(tx, made.merchant_id)
    assert merchant is not None
    work = Work.open(resources, tx, merchant, actor)
    await deactivate_copied(work, copied)
    for text in await list_answer_texts(Work.open(resources, tx, beside, actor)):
        await add_answer_text(work, text.name, text.text)
    return made.merchant_id


async def _find_taken(tx: Connection, resources: Resources, key: str) -> list[Fault]:
    """The fault of a key, itself well formed, that another merchant has."""
    standing = await load_standing(tx, resources.keys, key, lock=False)
    if standing.merchant is None:
        return []
    return [Fault("/key", "Another merchant has this key already. Choose another.", "TAKEN")]
