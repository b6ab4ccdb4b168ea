"""Sends notices to debtors as the worker's loops do."""

from dunwell.contact.notices.sender import NoticeSender
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.children import PRINTER
from tests.support.harness import Harness


def a_notice_writer(harness: Harness) -> NoticeWriter:
    return NoticeWriter(load_languages(DEBTOR_CATALOGUES), harness.resources.settings.public_url)


async def send_due_notices(harness: Harness) -> None:
    """Create the notices that are due and send them until nothing is left to do now."""
    sender = NoticeSender(
        harness.resources,
        harness.channels,
        find_provider=harness.delivery_providers.get,
        printer=PRINTER,
    )
    done = 1
    while done or not sender.is_idle:
        done = await send_due_occasions(harness.resources, a_notice_writer(harness))
        done += await sender.run_once()
    await sender.close()
