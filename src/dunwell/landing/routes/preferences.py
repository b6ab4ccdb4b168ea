"""How a debtor is reached: the language, the channels, and where the addresses are changed."""

from typing import Any

import msgspec

from dunwell.intake.change_contact_data import change_contact_data
from dunwell.kit.db import Connection
from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.choose_channels import choose_channels, list_ways
from dunwell.landing.desk import Desk
from dunwell.landing.features import check_feature
from dunwell.landing.in_session import from_level, in_session, takes_form, takes_form_from
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.preferences import CHANGEABLE, CHANNELS, OnFile
from dunwell.landing.preferences_store import load_on_file
from dunwell.landing.session import Level
from dunwell.landing.visit import Form, Visit
from dunwell.messages.identities import mask_address

_PAGE = "/claim/preferences"
# Comes back to the page, which shows masked addresses.
_PLACE = "reach"


@in_session
@from_level(Level.FACT, _PLACE)
async def show_preferences(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    check_feature(opened, "PREFERENCES")
    return await _answer(desk, visit, opened, saved=visit.read_query("saved"))


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def save_language(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    """The claim's: its messages come in it from now on, and so does this page."""
    check_feature(opened, "PREFERENCES")
    frame, language = desk.frame_opened(visit, opened), form.get("language", "")
    if language not in frame.offered:
        return desk.redirect(frame, _PAGE)
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        await change_contact_data(work, opened.facts.claim_id, {"language": language})
    return desk.redirect(msgspec.structs.replace(frame, chosen=None), f"{_PAGE}?saved=language")


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def save_channels(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    check_feature(opened, "PREFERENCES")
    wanted = [channel for channel in CHANNELS if form.get(channel) == "use"]
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        chosen = await choose_channels(work, desk.resources.keys, opened.facts.claim_id, wanted)
    if chosen is None:
        return await _answer(desk, visit, opened, is_last=True)
    return desk.redirect(desk.frame_opened(visit, opened), f"{_PAGE}?saved=channels")


@in_session
async def go_back(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return desk.redirect(desk.frame_opened(visit, opened), _PAGE)


async def _answer(
    desk: Desk, visit: Visit, opened: OpenedClaim,
    *, saved: str | None = None, is_last: bool = False,
) -> Answer:  # fmt: skip
    """is_last: no way would have been left."""
    frame = desk.frame_opened(visit, opened)
    async with desk.resources.database.connection() as connection:
        on_file = await load_on_file(connection, opened.merchant.merchant_id, opened.facts.claim_id)
        ways = await _list_ways(desk, connection, opened, on_file)
    language = opened.facts.language
    body = desk.show(
        "preferences.html", frame, opened,
        languages=[desk.pages.languages[code] for code in frame.offered],
        claims_language=language if language in frame.offered else frame.language,
        ways=ways, saved=saved, is_last=is_last,
        addresses=_list_addresses(opened, on_file),
        may_change=opened.session.level.reaches(Level.CODE),
    )  # fmt: skip
    return answer_page(body, 422 if is_last else 200)


async def _list_ways(
    desk: Desk, connection: Connection, opened: OpenedClaim, on_file: OnFile
) -> Any:
    work = desk.work(connection, opened.merchant, opened.session.session_id)
    return await list_ways(work, desk.resources.keys, on_file)


def _list_addresses(opened: OpenedClaim, on_file: OnFile) -> list[tuple[str, str, str | None]]:
    """Those that can be changed: the page's name, the channel, the masked address if there is
    one. A code can only be sent by a channel the merchant has."""
    present = {"EMAIL": on_file.email, "SMS": on_file.mobile_number}
    return [
        (name, channel, mask_address(channel, address) if (address := present[channel]) else None)
        for name, channel in CHANGEABLE.items()
        if channel in opened.merchant.configuration.channels
    ]
