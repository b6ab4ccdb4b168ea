"""Who the creditor is and what it tells of privacy: between the merchant file and what is stored.

Both are stated whole. Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Legal, Privacy, Retention
from dunwell.core.workflows.definition_rules import find_repeats
from dunwell.operations.onboarding.file import LegalPart, PrivacyPart, RetentionPart
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_country
from dunwell.platform.text.shape import read_if_fits


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
