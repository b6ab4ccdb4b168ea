"""`dunwell doctor` names unknown merchants in `webhookNetworks`, because a misspelt key has no
other effect."""

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.interfaces.cli.findings.installation import check_webhook_networks
from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.merchants import a_merchant


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "no merchant has its own webhookNetworks"),
        (["nordwind"], "every merchant that webhookNetworks names exists"),
        (["nordwind", "nordwnd"], 'webhookNetworks names no existing merchant: "nordwnd"'),
    ],
)
async def test_a_key_that_names_no_merchant_is_a_fault(
    resources: Resources, clock: MovableClock, postgres: EmbeddedPostgres, keys: list[str],
    words: str,
) -> None:  # fmt: skip
    entries = [{"merchant": key, "networks": ["10.0.0.0/24"]} for key in keys]
    await apply_installation(resources, check_installation({"webhookNetworks": entries}))
    async with resources.database.transaction() as tx:
        await a_merchant(tx, now=clock.now())
    [finding] = await check_webhook_networks(postgres.url)
    assert finding.words == words
    assert finding.is_fault == ("nordwnd" in keys)
    assert bool(finding.remedy) == finding.is_fault
