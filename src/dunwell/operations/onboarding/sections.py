"""Sections of a merchant file: their rules beyond the shape, and how each is stored and rendered
back. Pure.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import (
    PROOFS,
    Channel,
    Deferments,
    DisputeReason,
    Disputes,
    LandingPage,
    Legal,
    Modalities,
    PartialPayments,
    Plans,
    Privacy,
    Proof,
    Retention,
)
from dunwell.cases.disputes.reasons import ALWAYS_OFFERED, RESERVED_NAMES
from dunwell.core.workflows.definition_rules import find_repeats, language_fault
from dunwell.operations.onboarding.file import (
    DefermentsPart,
    DisputeReasonPart,
    DisputesPart,
    LegalPart,
    ModalitiesPart,
    PartialPart,
    PlansPart,
    PrivacyPart,
    RetentionPart,
    Verification,
    VerificationPart,
)
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_country, is_language
from dunwell.platform.text.shape import read_if_fits, render_nearest

_PATH = "/disputes/reasons"
# So alike is a name of the contract's mistyped, and no other reason.
_TYPO = 0.9


def find_dispute_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    disputes = read_if_fits(document.get("disputes"), DisputesPart)
    reasons = disputes.reasons if disputes is not None else []
    for index, reason in enumerate(reasons):
        yield from _find_reason_faults(reason, f"{_PATH}/{index}")
    for fault in find_repeats([reason.type for reason in reasons], _PATH):
        yield Fault(f"{fault.path}/type", fault.message, fault.code)


def _find_reason_faults(reason: DisputeReasonPart, path: str) -> Iterator[Fault]:
    if reason.hidden and reason.type in ALWAYS_OFFERED:
        message = f"{reason.type} is always offered: nobody may be left without a way to object."
        yield Fault(f"{path}/hidden", message, "NOT_ALLOWED")
    if reason.type not in RESERVED_NAMES:
        yield from _find_own_faults(reason, path)
    for code in reason.label:
        if not is_language(code):
            yield language_fault(code, f"{path}/label/{code}")


def _find_own_faults(reason: DisputeReasonPart, path: str) -> Iterator[Fault]:
    near = difflib.get_close_matches(reason.type, RESERVED_NAMES, n=1, cutoff=_TYPO)
    if near:
        message = f'Did you mean "{near[0]}"? Else choose a name that is less like it.'
        yield Fault(f"{path}/type", message, "NOT_ALLOWED")
    elif not reason.label:
        message = f'"{reason.type}" is a reason of your own; give it a "label" in a language.'
        yield Fault(f"{path}/label", message, "REQUIRED")


def read_disputes(part: DisputesPart) -> Disputes:
    return Disputes(
        tuple(DisputeReason(each.type, dict(each.label), each.hidden) for each in part.reasons),
        part.answer_within_days,
        part.quiet_days_after_answer,
    )


def render_disputes(disputes: Disputes) -> dict[str, Any]:
    """Under the file's keys."""
    return {
        "reasons": [
            {"type": each.type, "label": each.labels, "hidden": each.is_hidden}
            for each in disputes.reasons
        ],
        "answerWithinDays": disputes.answer_within_days,
        "quietDaysAfterAnswer": disputes.quiet_days_after_answer,
    }


_PLAN = "/modalities/plan"


def find_modality_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    modalities = read_if_fits(document.get("modalities"), ModalitiesPart)
    plan = modalities.plan if modalities is not None else None
    if plan is None:
        return
    if not plan.counts and plan.min_rate is None:
        message = 'Say how plans may look: "counts", "minRate", or both.'
        yield Fault(f"{_PLAN}/counts", message, "REQUIRED")
    yield from find_repeats(plan.counts or [], f"{_PLAN}/counts")


def read_modalities(part: ModalitiesPart) -> Modalities:
    return Modalities(
        plan=None if part.plan is None else _read_plan(part.plan),
        deferment=None if part.deferment is None else _read_deferment(part.deferment),
        pause_days=part.pause_days,
        answer_within_days=part.answer_within_days,
    )


def _read_plan(part: PlansPart) -> Plans:
    return Plans(
        counts=tuple(sorted(part.counts or ())),
        min_rate_cents=None if part.min_rate is None else int(part.min_rate),
        first_date_within_days=part.first_date_within_days,
        auto_approve=part.auto_approve,
    )


def _read_deferment(part: DefermentsPart) -> Deferments:
    return Deferments(part.max_days, part.auto_approve)


def render_modalities(modalities: Modalities) -> dict[str, Any]:
    """Under the file's keys."""
    plan, deferment = modalities.plan, modalities.deferment
    return {
        "plan": None if plan is None else _render_plan(plan),
        "deferment": None
        if deferment is None
        else {"maxDays": deferment.max_days, "autoApprove": deferment.auto_approve},
        "pauseDays": modalities.pause_days,
        "answerWithinDays": modalities.answer_within_days,
    }


def _render_plan(plan: Plans) -> dict[str, Any]:
    least = plan.min_rate_cents
    return {
        "counts": list(plan.counts),
        "minRate": None if least is None else str(least),
        "firstDateWithinDays": plan.first_date_within_days,
        "autoApprove": plan.auto_approve,
    }


def find_partial_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """A part of another shape is left out: the schema has reported it."""
    payment = document.get("payment")
    given = payment.get("partial") if isinstance(payment, dict) else None
    part = read_if_fits(given, PartialPart)
    if part is not None and part.min is None and not part.items:
        message = 'Say what may be paid in part: "min", "items", or both.'
        yield Fault("/payment/partial/min", message, "REQUIRED")


def read_partial(part: PartialPart | None) -> PartialPayments | None:
    if part is None:
        return None
    return PartialPayments(None if part.min is None else int(part.min), part.items)


def render_partial(partial: PartialPayments | None) -> dict[str, Any] | None:
    """Under the file's keys."""
    if partial is None:
        return None
    least = partial.min_cents
    return {"min": None if least is None else str(least), "items": partial.items}


_NONE = "NONE"


def find_verification_faults(part: VerificationPart) -> Iterator[Fault]:
    for channel, given in _list_given(part).items():
        path = f"/landingPage/verification/{channel}"
        if given == _NONE:
            continue
        if isinstance(given, str) or not given:
            message = f"What links ask for is {_NONE}, or a list of {', '.join(PROOFS)}."
            yield Fault(path, message, "NOT_ALLOWED")
            continue
        for index, proof in enumerate(given):
            if proof not in PROOFS:
                message = f'Links cannot ask for "{proof}". {render_nearest(proof, PROOFS)}'
                yield Fault(f"{path}/{index}", message, "UNKNOWN_PROOF")
        yield from find_repeats(given, path)


def read_verification(part: VerificationPart) -> dict[Channel, tuple[Proof, ...]]:
    """By channel, what its links ask for; only channels that ask for something. The part must have
    no faults."""
    known: Mapping[str, Proof] = {proof: proof for proof in PROOFS}
    return {
        channel: tuple(known[proof] for proof in given)
        for channel, given in _list_given(part).items()
        if not isinstance(given, str)
    }


def render_verification(page: LandingPage) -> dict[str, Any]:
    return {channel: list(proofs) for channel, proofs in page.verification.items()}


def _list_given(part: VerificationPart) -> Mapping[Channel, Verification]:
    return {"EMAIL": part.email, "SMS": part.sms, "LETTER": part.letter}


def find_identity_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Parts of another shape are left out: the schema has reported them."""
    legal = read_if_fits(document.get("legal"), LegalPart)
    if legal is not None and legal.country is not None and not is_country(legal.country):
        message = f'"{legal.country}" is no country of ISO 3166-1, such as "DE" or "AT".'
        yield Fault("/legal/country", message, "UNKNOWN_COUNTRY")
    privacy = read_if_fits(document.get("privacy"), PrivacyPart)
    if privacy is not None:
        yield from find_repeats(privacy.basis, "/privacy/basis")


def read_legal(part: LegalPart) -> Legal:
    return Legal(**msgspec.structs.asdict(part) | {"representatives": tuple(part.representatives)})


def render_legal(legal: Legal | None) -> Any:
    if legal is None:
        return None
    given = msgspec.structs.asdict(legal) | {"representatives": list(legal.representatives)}
    return msgspec.to_builtins(LegalPart(**given))


def read_privacy(part: PrivacyPart) -> Privacy:
    retention = Retention(part.retention.claim_years, part.retention.record_years)
    return Privacy(
        part.authority,
        tuple(part.basis),
        retention=retention,
        controller=part.controller,
        officer=part.officer,
    )


def render_privacy(privacy: Privacy | None) -> Any:
    if privacy is None:
        return None
    given = msgspec.structs.asdict(privacy) | {
        "basis": list(privacy.basis),
        "retention": RetentionPart(**msgspec.structs.asdict(privacy.retention)),
    }
    return msgspec.to_builtins(PrivacyPart(**given))
