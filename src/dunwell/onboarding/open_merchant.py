"""Creates a merchant of whom only the name is known yet, by the rules of the merchant file."""

from typing import Any

from dunwell.errors import Fault, ValidationError
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import check_right
from dunwell.merchants.actor import Actor
from dunwell.merchants.merchant import Merchant
from dunwell.merchants.rights import Right
from dunwell.onboarding.checking import Surroundings, check_merchant_file
from dunwell.onboarding.counterpart import write_counterpart_settings
from dunwell.onboarding.decision import decide_changes
from dunwell.onboarding.load_standing import load_standing
from dunwell.onboarding.performing import perform_changes
from dunwell.onboarding.reading import Source


async def open_merchant(
    resources: Resources, tx: Connection, actor: Actor,
    *, document: dict[str, Any], surroundings: Surroundings, beside: Merchant | None = None,
) -> int:  # fmt: skip
    """The new merchant's id. `document`: key, name, language, timezone, currency, sandbox.
    `beside`: the counterpart, whose settings it begins with. Raises ValidationError with every
    fault; one of them: the key is taken."""
    check_right(actor, Right.CONFIGURE)
    logo = beside.configuration.brand.logo if beside else None
    settings = write_counterpart_settings(beside) if beside else {}
    source = Source({**settings, **document}, {}, [], logo)
    checked = check_merchant_file(source, surroundings)
    standing = await load_standing(tx, resources.keys, checked.file.key, lock=False)
    if standing.merchant is not None:
        taken = Fault("/key", "Another merchant has this key already. Choose another.", "TAKEN")
        raise ValidationError([taken])
    changes = decide_changes(checked, standing, publish=False)
    made = await perform_changes(resources, tx, None, changes=changes, actor=actor)
    return made.merchant_id
