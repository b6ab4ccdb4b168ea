"""Raising the level of a session with data on file, a letter's code, or a code sent to the address
on file. A form that is sent twice counts once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
from starlette.responses import Response

from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.session.lifecycle import raise_level, reissue_raised_token
from dunwell.interfaces.landing.session.session import Level, is_form_token
from dunwell.interfaces.landing.session.store import (
    OpenedClaim,
    find_successor,
    load_on_file,
    load_opened_claim,
)
from dunwell.interfaces.landing.sign_in.attempt_limits import Delayed, Locked, WrongAttempt
from dunwell.interfaces.landing.sign_in.entered_codes import (
    CorrectProof,
    RequestedProof,
    verify_letter_code,
    verify_proof,
    verify_sent_code,
)
from dunwell.interfaces.landing.sign_in.sent_code_pages import (
    CodeRecipient,
    answer_code_field,
    build_typed_code,
    describe_lock,
    send_code_and_redirect,
)
from dunwell.interfaces.landing.sign_in.store import UNDELIVERED
from dunwell.interfaces.landing.sign_in.verification import (
    KnownProofs,
    ProofKind,
    build_known_proofs,
    choose_proof,
    find_code_channel,
    get_verification_policy,
)
from dunwell.interfaces.landing.sign_in.views import CodeField, VerifyPage
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.interfaces.landing.web.in_session import (
    RETURN_PAGES,
    RoutedPages,
    accepts_form,
    in_session,
    in_session_with,
)
from dunwell.interfaces.landing.web.problems import answer_problem
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.requests import ForeignForm
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class SubmittedProof:
    """A proof that was sent with a live session, or with a previous token of one (`is_late`)."""

    site: DebtorSite
    request: DebtorRequest
    opened: OpenedClaim
    form: FormFields
    session_hash: bytes

    @property
    def is_late(self) -> bool:
        return self.opened.session.session_hash != self.session_hash


@dataclass(frozen=True, slots=True)
class LevelRaised:
    """`value` is the new value of the cookie, or None if the browser has it already."""

    value: str | None


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session has ended, or the cookie never belonged to one."""


ProofResult: TypeAlias = CorrectProof | WrongAttempt | Locked | Delayed
# Verifies a proof. None means that the claim has no proof that could be asked for.
VerifyProof: TypeAlias = Callable[[Connection, SubmittedProof], Awaitable[ProofResult | None]]


async def submit_proof(
    site: DebtorSite, request: DebtorRequest, level: Level, prove: VerifyProof
) -> tuple[OpenedClaim | None, LevelRaised | WrongAttempt | Locked | Delayed | SessionEnded | None]:
    """Verify a proof and raise the session's level.

    Return the claim and the result. The claim is None if it was found only by a token that has been
    replaced. Raises ForeignForm if the form belongs to another session.
    """
    form, opened = await request.read_session_form(), await site.find_opened(request)
    proof = await _load_proof(site, request, form, opened)
    if proof is None:
        return opened, SessionEnded()
    session = proof.opened.session
    if not proof.is_late and session.level.reaches(level):
        # A double click: the browser already has the cookie of the first response, and the form is
        # still the old one.
        return opened, LevelRaised(None)
    if not is_form_token(site.resources.keys, proof.session_hash, form.get("token", "")):
        raise ForeignForm("The form belongs to another session.")
    async with site.resources.database.transaction() as tx:
        result = await prove(tx, proof)
        value = (
            await _raise_level(tx, proof, level, result)
            if isinstance(result, CorrectProof)
            else None
        )
    if value is not None:
        return opened, LevelRaised(value)
    if proof.is_late:
        return None, SessionEnded()
    if not isinstance(result, CorrectProof):
        return opened, result
    # Another session of the claim has used the code meanwhile, or this session has ended.
    current = await site.find_opened(request)
    return current, WrongAttempt() if site.is_live(current) else SessionEnded()


async def _load_proof(
    site: DebtorSite, request: DebtorRequest, form: FormFields, opened: OpenedClaim | None
) -> SubmittedProof | None:
    session_hash = request.session_hash
    if session_hash is None:
        return None
    if opened is None:
        async with site.resources.database.connection() as connection:
            successor = await find_successor(connection, session_hash, site.now())
            if successor is not None:
                opened = await load_opened_claim(connection, successor.session_hash)
    if opened is None or not site.is_live(opened):
        return None
    return SubmittedProof(
        site=site, request=request, opened=opened, form=form, session_hash=session_hash
    )


async def _raise_level(
    tx: Connection, proof: SubmittedProof, level: Level, result: CorrectProof
) -> str | None:
    site = proof.site
    session = msgspec.structs.replace(proof.opened.session, session_hash=proof.session_hash)
    work = site.build_work(tx, proof.opened.merchant, session.session_id)
    randomness = site.draw_randomness()
    if result.is_repeated:
        return await reissue_raised_token(work, proof.session_hash, level, randomness=randomness)
    return await raise_level(
        work, session, level, randomness=randomness, proven=result.proven_digests
    )


async def redirect_to_verification(site: DebtorSite, request: DebtorRequest) -> Response:
    """Redirect to the verification page, which returns to the page named in the parameter `for`."""
    name = request.find_parameter("for") or ""
    return site.redirect(
        site.build_context(request), "verify", place=name if name in RETURN_PAGES else "claim"
    )


async def return_to_verification(site: DebtorSite, request: DebtorRequest) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language."""
    return site.redirect(
        site.build_context(request), "verify", place=_get_return_page_name(request)
    )


@in_session
async def get_verification_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    path, needed = _get_return_page(request)
    if opened.session.level.reaches(needed):
        return site.redirect(site.build_claim_context(request, opened), path)
    return _answer_verify(site, request, opened)


async def enter_proof(site: DebtorSite, request: DebtorRequest) -> Response:
    async def prove(tx: Connection, proof: SubmittedProof) -> ProofResult | None:
        session = proof.opened.session
        known = build_known_proofs(await load_on_file(tx, session.merchant_id, session.claim_id))
        kind = _choose_proof(proof.opened, known)
        if kind is None:
            return None
        wanted = RequestedProof(session.merchant_id, session.claim_id, known, kind)
        result = await verify_proof(tx, wanted, proof.form, now=site.now())
        return result or CorrectProof(is_repeated=False)

    return await _submit_and_answer(site, request, Level.FACT, prove=prove, form_name="FACT")


async def enter_letter_code(site: DebtorSite, request: DebtorRequest) -> Response:
    async def prove(tx: Connection, proof: SubmittedProof) -> ProofResult:
        session, keys = proof.opened.session, site.resources.keys
        visitor = digest_visitor(keys, request.client_host)
        result = await verify_letter_code(
            tx, keys, proof.form.get("code", ""), visitor=visitor, now=site.now(),
            only=(session.merchant_id, session.claim_id),
        )  # fmt: skip
        return (
            result
            if isinstance(result, WrongAttempt | Delayed)
            else CorrectProof(is_repeated=False)
        )

    return await _submit_and_answer(site, request, Level.FACT, prove=prove, form_name="LETTER")


@accepts_form
async def send_session_code(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    session, context = opened.session, site.build_claim_context(request, opened)
    known = build_known_proofs(opened.facts.on_file)
    channel = _find_code_channel(opened, known)
    if channel is None:
        return site.redirect(context, "verify", place=_get_return_page_name(request))
    recipient = CodeRecipient(
        merchant=opened.merchant,
        claim_id=session.claim_id,
        channel=channel,
        address=known.addresses[channel],
        requested_by=str(session.session_id),
    )
    return await send_code_and_redirect(site, context, recipient, _build_field(request, channel))


@in_session_with(UNDELIVERED)
async def get_code_sent_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    return _answer_code_field(site, request, opened, is_wrong=False)


async def enter_sent_code(site: DebtorSite, request: DebtorRequest) -> Response:
    async def prove(tx: Connection, proof: SubmittedProof) -> ProofResult:
        session, keys = proof.opened.session, site.resources.keys
        typed = build_typed_code(
            site, request, proof.form, merchant_id=session.merchant_id, claim_id=session.claim_id
        )
        return await verify_sent_code(tx, keys, typed, site.now())

    return await _submit_and_answer(site, request, Level.CODE, prove=prove, form_name="CODE")


async def _submit_and_answer(
    site: DebtorSite, request: DebtorRequest, level: Level, prove: VerifyProof, form_name: str
) -> Response:
    """Verify a proof and answer the form. `form_name` is FACT, LETTER or CODE."""
    opened, result = await submit_proof(site, request, level, prove)
    if isinstance(result, LevelRaised):
        path, _ = _get_return_page(request)
        context = (
            site.build_claim_context(request, opened) if opened else site.build_context(request)
        )
        return site.redirect(context, path, cookie=result.value)
    if opened is None or isinstance(result, SessionEnded):
        return site.answer_session_ended(request, opened)
    if result is None:
        return site.redirect(
            site.build_claim_context(request, opened),
            "verify",
            place=_get_return_page_name(request),
        )
    return await _answer_rejected_proof(site, request, opened, result=result, form_name=form_name)


async def _answer_rejected_proof(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    result: WrongAttempt | Locked | Delayed,
    form_name: str,
) -> Response:
    """Answer a proof that was not accepted. `form_name` is FACT, LETTER or CODE."""
    if isinstance(result, Locked | Delayed):
        return answer_problem(
            site, site.build_claim_context(request, opened), describe_lock(result)
        )
    if form_name == "CODE":
        opened = await site.find_opened(request, UNDELIVERED) or opened
        return _answer_code_field(site, request, opened, is_wrong=True)
    return _answer_verify(site, request, opened, form_name)


def _answer_verify(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, wrong: str | None = None
) -> Response:
    known, (_, needed) = build_known_proofs(opened.facts.on_file), _get_return_page(request)
    page = VerifyPage(
        place=_get_return_page_name(request),
        needed=needed,
        kind=_choose_proof(opened, known),
        channel=_find_code_channel(opened, known),
        wrong=wrong,
    )
    return site.render_page(site.build_claim_context(request, opened), page, 422 if wrong else 200)


def _answer_code_field(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, *, is_wrong: bool
) -> Response:
    context, is_undelivered = (
        site.build_claim_context(request, opened),
        UNDELIVERED.decode(opened.detail),
    )
    channel = _find_code_channel(opened, build_known_proofs(opened.facts.on_file))
    if channel is None:
        return site.redirect(context, "verify", place=_get_return_page_name(request))
    field = _build_field(request, channel, is_undelivered=bool(is_undelivered))
    return answer_code_field(site, context, field, is_wrong=is_wrong)


def _choose_proof(opened: OpenedClaim, known: KnownProofs) -> ProofKind | None:
    policy = get_verification_policy(opened.merchant.configuration, opened.session.channel)
    return choose_proof(policy, known)


def _find_code_channel(opened: OpenedClaim, known: KnownProofs) -> NoticeChannel | None:
    channels = opened.merchant.configuration.channels
    return find_code_channel(known, opened.session.channel, channels)


def _get_return_page(request: DebtorRequest) -> tuple[str, Level]:
    return RETURN_PAGES[_get_return_page_name(request)]


def _build_field(
    request: DebtorRequest, channel: NoticeChannel, *, is_undelivered: bool = False
) -> CodeField:
    values = {"place": _get_return_page_name(request)}
    return CodeField(channel, "verify", values, is_undelivered=is_undelivered)


def _get_return_page_name(request: DebtorRequest) -> str:
    place: str = request.path_params["place"]
    return place if place in RETURN_PAGES else "claim"


PAGES: RoutedPages = {
    "prove": {"GET": redirect_to_verification},
    "verify": {"GET": get_verification_page, "POST": enter_proof},
    "verify_letter": {"GET": return_to_verification, "POST": enter_letter_code},
    "verify_send": {"GET": return_to_verification, "POST": send_session_code},
    "verify_code": {"GET": get_code_sent_page, "POST": enter_sent_code},
}
