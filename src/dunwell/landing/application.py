"""Builds the debtor's pages as handlers to be mounted at the root.

Every address answers every method with a page: a HEAD is answered as its GET, and what an address
does not take gets a page that leads on.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dunwell.errors import NotFound, Unavailable
from dunwell.files.inspection import Inspector
from dunwell.files.storage import Storage
from dunwell.kit.resources import Resources
from dunwell.landing.arranging import (
    routes as options,
)
from dunwell.landing.arranging import (
    routes_help as help_,
)
from dunwell.landing.arranging import (
    routes_later as later,
)
from dunwell.landing.arranging import (
    routes_modality as modality,
)
from dunwell.landing.arranging import (
    routes_plan as plan,
)
from dunwell.landing.claim import routes as claim
from dunwell.landing.claim import routes_documents as documents
from dunwell.landing.entering import routes as entry
from dunwell.landing.entering import routes_new_link as new_link
from dunwell.landing.entering import routes_real as real
from dunwell.landing.entering import routes_verify as verify
from dunwell.landing.objecting import routes as disputes
from dunwell.landing.objecting import routes_evidence as evidence
from dunwell.landing.paying import routes as paying
from dunwell.landing.paying import routes_receipts as receipts
from dunwell.landing.paying import routes_transfer as transfer
from dunwell.landing.reaching import routes as preferences
from dunwell.landing.reaching import routes_addresses as addresses
from dunwell.landing.render.pages import Pages
from dunwell.landing.render.wording import CATALOGUES, load_languages
from dunwell.landing.telling.writer import NoticeWriter
from dunwell.landing.web import assets
from dunwell.landing.web.answer import LIGHT, Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import Run
from dunwell.landing.web.problems import (
    Problem,
    answer_problem,
    find_problem,
    log_crash,
    wrong_method,
)
from dunwell.landing.web.visit import Visit
from dunwell.messages.letters.printer import LetterPrinter
from dunwell.payments.provider import Providers


async def _refuse_unknown(_desk: Desk, _visit: Visit) -> Answer:
    raise NotFound("There is no such page.")


# Address -> method -> what it does.
ROUTES: dict[str, Mapping[str, Run]] = {
    "/q": {"GET": entry.show_code_entry, "POST": entry.enter_code},
    "/q/new-link": {"GET": new_link.show_form, "POST": new_link.ask},
    "/q/new-link/sent": {"GET": new_link.show_sent},
    "/q/{token:str}": {"GET": entry.show_link, "POST": entry.open_link},
    "/q/{token:str}/send": {"GET": entry.go_to_link, "POST": entry.send_links_code},
    "/q/{token:str}/code": {"GET": entry.show_links_code, "POST": entry.enter_links_code},
    "/real": {"GET": real.show_form, "POST": real.check},
    "/claim": {"GET": claim.show_claim},
    "/claim/pay": {"GET": paying.choose_amount},
    "/claim/pay/method": {"GET": paying.check_payment, "POST": paying.hand_off},
    "/claim/pay/transfer": {"GET": transfer.show_transfer},
    "/claim/pay/code.png": {"GET": transfer.send_code},
    "/claim/pay/sent": {"GET": transfer.ask_when, "POST": transfer.announce},
    "/claim/options": {"GET": options.show_options},
    "/claim/plan": {"GET": plan.show_plans},
    "/claim/plan/check": {"GET": plan.check_plan, "POST": plan.ask_plan},
    "/claim/later": {"GET": later.show_days},
    "/claim/later/check": {"GET": later.check_day, "POST": later.ask_time},
    "/claim/modality/{modality_id:str}": {"GET": modality.show_modality},
    "/claim/modality/{modality_id:str}/pdf": {"GET": modality.send_pdf},
    "/claim/modality/{modality_id:str}/email": {
        "GET": modality.go_back,
        "POST": modality.send_copy,
    },
    "/claim/modality/{modality_id:str}/withdraw": {
        "GET": modality.confirm_withdrawal,
        "POST": modality.withdraw,
    },
    "/claim/help": {"GET": help_.show_help, "POST": help_.pause},
    "/claim/dispute": {"GET": disputes.choose_reason},
    "/claim/dispute/{reason:str}": {
        "GET": disputes.show_questions,
        "POST": disputes.take_answers,
    },
    "/claim/disputes/{dispute_id:str}": {"GET": evidence.show_dispute},
    "/claim/disputes/{dispute_id:str}/files": {
        "GET": evidence.go_to_dispute,
        "POST": evidence.add_files,
    },
    "/claim/disputes/{dispute_id:str}/withdraw": {
        "GET": evidence.confirm_withdrawal,
        "POST": evidence.withdraw,
    },
    "/claim/return/{request_id:str}": {"GET": receipts.come_back},
    "/claim/receipt/{request_id:str}": {"GET": receipts.show_receipt},
    "/claim/receipt/{request_id:str}/pdf": {"GET": receipts.send_pdf},
    "/claim/receipt/{request_id:str}/email": {
        "GET": receipts.show_receipt,
        "POST": receipts.send_copy,
    },
    "/claim/verify": {"GET": verify.go_to_place},
    "/claim/verify/{place:str}": {
        "GET": verify.show_verify,
        "POST": verify.enter_fact,
    },
    "/claim/verify/{place:str}/letter": {
        "GET": verify.go_to_verify,
        "POST": verify.enter_letters_code,
    },
    "/claim/verify/{place:str}/send": {
        "GET": verify.go_to_verify,
        "POST": verify.send,
    },
    "/claim/verify/{place:str}/code": {
        "GET": verify.show_sent,
        "POST": verify.enter_sent,
    },
    "/claim/extend": {"GET": claim.go_back, "POST": claim.extend},
    "/claim/end": {"GET": claim.go_back, "POST": claim.end},
    "/claim/ended": {"GET": claim.show_ended},
    "/claim/notices": {"GET": claim.show_notices},
    "/claim/documents": {"GET": documents.show_documents},
    "/claim/documents/{attachment_id:str}": {"GET": documents.send_document},
    "/claim/preferences": {"GET": preferences.show_preferences},
    "/claim/preferences/language": {
        "GET": preferences.go_back,
        "POST": preferences.save_language,
    },
    "/claim/preferences/channels": {
        "GET": preferences.go_back,
        "POST": preferences.save_channels,
    },
    "/claim/preferences/{what:str}": {
        "GET": addresses.show_form,
        "POST": addresses.take_address,
    },
    "/claim/preferences/{what:str}/code": {
        "GET": addresses.show_code_field,
        "POST": addresses.enter_code,
    },
    "/claim/preferences/{what:str}/send": {
        "GET": addresses.go_to_form,
        "POST": addresses.send_again,
    },
    "/claim/style/{name:str}": {"GET": assets.send_stylesheet},
    "/claim/script/{name:str}": {"GET": assets.send_script},
    "/claim/brand/{merchant_id:str}/{revision:str}/{name:str}": {"GET": assets.send_brand},
}
_UNKNOWN: Mapping[str, Run] = {"GET": _refuse_unknown, "POST": _refuse_unknown}
# The addresses between and below ours, which would otherwise be the whole application's to refuse,
# in the words of its interface for programs.
_GAPS = dict.fromkeys(("/q/{rest:path}", "/real/{rest:path}", "/claim/{rest:path}"), _UNKNOWN)


def build_landing_routes(
    resources: Resources,
    providers: Providers,
    hand_off_origins: Mapping[str, str] | None = None,
    catalogues: Path = CATALOGUES,
    inspector: Inspector | None = None,
    press: LetterPrinter | None = None,
) -> Sequence[Route]:
    """hand_off_origins: of providers' own pages, by the provider's name (`Desk`). catalogues: the
    folder of the languages there are beside English. inspector: looks into debtors' files. press:
    prints their papers. Whoever gives one of these closes it."""
    settings = resources.settings
    domain = urlsplit(settings.public_url).netloc
    languages = load_languages(catalogues)
    pages = Pages(
        languages, domain, assets.name_stylesheet(), assets.name_scripts(), settings.contact_phone
    )
    notices = NoticeWriter(languages, settings.public_url)
    storage = Storage.open(settings.files_url)
    desk = Desk(
        resources, providers, pages, hand_off_origins or {}, notices, storage,
        inspector or Inspector(), press or LetterPrinter(1),
    )  # fmt: skip
    return [Route(path, _Page(desk, path, runs)) for path, runs in (ROUTES | _GAPS).items()]


class _Page:
    """One address as an ASGI application, which takes every method."""

    def __init__(self, desk: Desk, path: str, runs: Mapping[str, Run]) -> None:
        self._desk = desk
        self._path = path
        self._runs = runs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = Visit(scope, receive, self._desk.resources.settings.public_url)
        answer = await _answer(self._desk, visit, self._path, self._runs)
        if len(answer.body) > LIGHT and visit.takes_gzip and not visit.carried:
            answer = answer.compress()
        await answer(scope, receive, send)


async def _answer(desk: Desk, visit: Visit, path: str, runs: Mapping[str, Run]) -> Answer:
    run = runs.get("GET" if visit.method == "HEAD" else visit.method)
    if run is None:
        allowed = ", ".join(sorted({*runs, "HEAD"}))
        return await _answer_refusal(desk, visit, wrong_method(allowed))
    try:
        return await run(desk, visit)
    except Exception as error:  # noqa: BLE001 - whatever it is, its reader gets a page
        return await _answer_failure(desk, visit, path, error)


async def _answer_failure(desk: Desk, visit: Visit, route: str, error: Exception) -> Answer:
    problem = find_problem(error)
    if problem.status < 500:
        return await _answer_refusal(desk, visit, problem)
    request_id = None
    if problem.status == 500:
        request_id = log_crash(desk.resources, visit, route, error)
    opened = visit.opened
    frame = desk.frame_opened(visit, opened) if opened and desk.is_live(opened) else None
    return answer_problem(desk.pages, frame or desk.frame(visit), problem, request_id)


async def _answer_refusal(desk: Desk, visit: Visit, problem: Problem) -> Answer:
    """In a session, with its creditor and its language."""
    frame = desk.frame(visit)
    with suppress(Unavailable):
        opened = await desk.find_opened(visit)
        if opened is not None and desk.is_live(opened):
            frame = desk.frame_opened(visit, opened)
    return answer_problem(desk.pages, frame, problem)
