"""Change a merchant's name and configuration, as a new revision."""

import msgspec

from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.configuration import Configuration
from dunwell.merchants.store_changes import save_configuration


async def change_configuration(work: Work, name: str, configuration: Configuration) -> None:
    """Store both, which have been checked; the audit row names the parts that differ."""
    before = {"name": work.merchant.name, **msgspec.to_builtins(work.merchant.configuration)}
    after = {"name": name, **msgspec.to_builtins(configuration)}
    changed = [part for part in after if after[part] != before.get(part)]
    await save_configuration(work.tx, work.merchant_id, name, configuration)
    await save_audit(
        work, "merchant.change_configuration", f"merchant:{work.merchant_id}", changed=changed
    )
