"""`dunwell channel deliveries`, as text and JSON."""

import msgspec

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import ScriptedDeliveryProvider

_PROVIDER = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}


async def test_delivery_counts_are_shown_by_domain_with_reasons(
    resources: Resources, clock: MovableClock, dunwell: CommandLine
) -> None:
    file = {
        "deliveryProviders": {"post": _PROVIDER},
        "alerts": {"failing": {"percent": 50, "least": 3}},
    }
    await apply_installation(resources, check_installation(file))
    assert dunwell.run("channel", "deliveries").stdout == "No messages were sent.\n"
    provider = ScriptedDeliveryProvider(
        answers=[Permanent("The mail server refused it: 550 5.7.1.")] * 3
    )
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(*(f"INV-{number}" for number in range(4)))
    await harness.run()
    # The command line uses real time.
    await harness.rows("UPDATE communications SET settled_at = now() WHERE merchant_id = $1")
    lines = dunwell.run("channel", "deliveries").stdout.splitlines()
    assert lines[1].split() == [
        "post", "example.org", "4", "0", "3", "75.0", "%", "1", "too", "many",
    ]  # fmt: skip
    assert lines[-2:] == [
        "Reasons", "  post example.org: 3 x The mail server refused it: 550 5.7.1.",
    ]  # fmt: skip
    [seen] = msgspec.json.decode(dunwell.run("channel", "deliveries", "--json").stdout)
    assert seen["isLosing"]
    assert seen["delivery"]["sent"] == {"sent": 4, "delivered": 0, "failed": 3}
    assert [each["messages"] for each in seen["reasons"]] == [3]
