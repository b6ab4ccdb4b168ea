"""Alert e-mails through a real Postfix, as the operator receives them."""

from datetime import timedelta
from email import message_from_bytes
from email.policy import default
from typing import Any

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.operations.alerts.check_alerts import check_for_alerts
from dunwell.operations.alerts.send_alert_emails import send_alert_emails
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.postfix import Postfix
from tests.servers.test_email import drain, read_provider, receiving_server
from tests.support.mail_servers import MailServer

__all__ = ["receiving_server"]
_PROVIDER: dict[str, Any] = {"channel": "EMAIL", "adapter": "smtp", "server": "127.0.0.1:25"}


async def test_an_alert_is_mailed_to_the_address_in_the_installation_file(
    resources: Resources,
    clock: MovableClock,
    postfix: Postfix,
    receiving_server: MailServer,
) -> None:
    alarms = {"email": ["ops@example.org"], "from": "dunwell@example.org", "language": "de"}
    document = {"deliveryProviders": {"post": _PROVIDER | {"encryption": "NONE"}}, "alerts": alarms}
    await apply_installation(resources, check_installation(document))
    channel = SmtpChannel("post", read_provider(postfix), {}, resources.keys)
    # The delivery provider is unusable during the check and works again when the alert is sent.
    assert await check_for_alerts(resources, lambda _: None, "") == 1
    for _ in range(2):
        await send_alert_emails(resources, lambda _: channel)
        clock.advance(timedelta(minutes=10))
    await channel.close()
    drain(postfix)
    [arrived] = receiving_server.taken
    assert arrived.recipient == "ops@example.org"
    message = message_from_bytes(arrived.content, policy=default)
    assert message["Subject"].startswith("Dunwell-Alarm: Versandanbieter post ist nicht")
    assert message["From"].addresses[0].addr_spec == "dunwell@example.org"
    text = message.get_content() if not message.is_multipart() else str(message)
    assert f"{resources.settings.public_url}/portal/delivery-providers" in text
