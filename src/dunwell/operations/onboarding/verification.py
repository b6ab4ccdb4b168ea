"""What a merchant file says of the ways into a claim's page, to what is stored and back. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from dunwell.accounts.merchants.configuration import PROOFS, Channel, LandingPage, Proof
from dunwell.core.workflows.definition_rules import find_repeats
from dunwell.operations.onboarding.file import Verification, VerificationPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.shape import render_nearest

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
