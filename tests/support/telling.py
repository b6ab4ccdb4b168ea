"""Sends notices to debtors as the worker's loops do."""

from dunwell.contact.notices.sender import NoticeSender
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.children import PRINTER
from tests.support.house import House


def a_writer(house: House) -> NoticeWriter:
    return NoticeWriter(load_languages(DEBTOR_CATALOGUES), house.resources.settings.public_url)


async def tell(house: House) -> None:
    """Create the notices that are due and send them until nothing is left to do now."""
    sender = NoticeSender(
        house.resources, house.channels, find_provider=house.lines.get, printer=PRINTER
    )
    done = 1
    while done or not sender.is_idle:
        done = await send_due_occasions(house.resources, a_writer(house))
        done += await sender.run_once()
    await sender.close()
