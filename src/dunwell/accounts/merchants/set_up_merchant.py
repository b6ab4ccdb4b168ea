"""Create a merchant account (spec, What the service does 5), and change its configuration."""

from datetime import datetime
from typing import Any

import msgspec

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_log import save_audit, select_changed_fields
from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.merchant import Merchant, NewMerchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import save_configuration, save_merchant
from dunwell.platform.crypto import sha256
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState
from dunwell.platform.ids import Ids


async def create_merchant(
    tx: Connection, actor: Actor, new: NewMerchant, now: datetime, ids: Ids
) -> Work:
    """Insert the merchant and return the context for further use cases on it. `now` is real time.

    A sandbox merchant's clock starts at the whole second of `now`, so that a response, which has
    only milliseconds, shows the clock's exact time. Raises InvalidState if the key is taken.
    """
    check_right(actor, Right.CONFIGURE)
    sandbox_now = now.replace(microsecond=0) if new.is_sandbox else None
    merchant_id = await save_merchant(tx, new, now, sandbox_now)
    if merchant_id is None:
        raise InvalidState(f'A merchant with the key "{new.key}" already exists.', state="EXISTS")
    merchant = Merchant(
        merchant_id=merchant_id,
        key=new.key,
        name=new.name,
        switched_to_workflows=new.switched_to_workflows,
        revision=1,
        configuration=new.configuration,
        sandbox_now=sandbox_now,
    )
    work = Work(tx=tx, merchant=merchant, actor=actor, now=now, real_now=now, ids=ids)
    await save_audit(
        work, "merchant.create", f"merchant:{merchant_id}",
        after=_build_audit_values(new.name, new.configuration), sandbox=new.is_sandbox,
    )  # fmt: skip
    return work


async def change_configuration(work: Work, name: str, configuration: Configuration) -> None:
    """Save the checked name and configuration. The audit entry names the parts that changed."""
    work.require(Right.CONFIGURE)
    before, after = select_changed_fields(
        _build_audit_values(work.merchant.name, work.merchant.configuration),
        _build_audit_values(name, configuration),
    )
    await save_configuration(work.tx, work.merchant_id, name, configuration)
    await save_audit(
        work, "merchant.change_configuration", f"merchant:{work.merchant_id}",
        before=before, after=after, changed=[*after],
    )  # fmt: skip


def _build_audit_values(name: str, configuration: Configuration) -> dict[str, Any]:
    values: dict[str, Any] = {"name": name, **msgspec.to_builtins(configuration)}
    logo = configuration.brand.logo
    if logo is not None:
        # The log holds the logo's hash instead of its bytes.
        values["brand"]["logo"] = sha256(msgspec.json.encode(logo)).hex()
    return values
