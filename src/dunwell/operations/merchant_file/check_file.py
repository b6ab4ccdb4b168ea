"""Find all faults of a merchant file at once, with pointers into the file.

Only the file itself is checked. Faults that depend on the stored merchant are found in
`check_against_merchant`. Pure.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import Logo
from dunwell.core.workflows.definition import Definition
from dunwell.operations.merchant_file.direct_debit_rules import find_direct_debit_faults
from dunwell.operations.merchant_file.file import (
    NOT_AVAILABLE,
    RENAMED_KEYS,
    MerchantFile,
    list_workflow_parts,
)
from dunwell.operations.merchant_file.read_file import MerchantFileSource
from dunwell.operations.merchant_file.rules import (
    find_account_faults,
    find_dispute_faults,
    find_guard_faults,
    find_identity_faults,
    find_method_faults,
    find_modality_faults,
    find_page_faults,
    find_partial_faults,
    find_webhook_faults,
    find_workflow_faults,
)
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import explain_renamed_keys, find_faults, render_pointer
from dunwell.platform.text.texts import find_unprintable

_VERIFICATION_METHOD = re.compile(r"/landingPage/verification/[A-Z]+/\d+")


@dataclass(frozen=True, slots=True)
class InstallationLimits:
    """What the installation allows: the adapters by channel, the payment providers, and whether it
    is in development."""

    available_adapters: Mapping[str, Collection[str]]
    is_development: bool
    available_providers: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class CheckedFile:
    file: MerchantFile
    # The value that `file` was parsed from. It shows which keys of an object are present.
    document: Mapping[str, Any]
    logo: Logo | None
    # Keyed by the name of the workflow or scenario, in the order of the file.
    definitions: dict[str, Definition]


def check_merchant_file(source: MerchantFileSource, limits: InstallationLimits) -> CheckedFile:
    """Return the parsed file. Raises ValidationError with every fault."""
    faults = list(dict.fromkeys(_find_faults(source, limits)))
    if faults:
        raise ValidationError(faults)
    file = msgspec.convert(source.document, MerchantFile)
    definitions = {}
    for index, part in enumerate(list_workflow_parts(file)):
        document = source.definitions.get(index, part.definition)
        definitions[part.name] = msgspec.convert(document, Definition)
    return CheckedFile(file, source.document, source.logo, definitions)


def _find_faults(source: MerchantFileSource, limits: InstallationLimits) -> Iterator[Fault]:
    document = source.document
    if not isinstance(document, dict):
        yield from find_faults(document, MerchantFile)
        return
    yield from _find_shape_faults(document)
    keys = ("workflows", "scenarios")
    without_definitions = {k: v for k, v in document.items() if k not in keys}
    yield from find_unprintable(without_definitions)
    yield from source.faults
    yield from find_account_faults(document, limits.available_adapters)
    yield from find_identity_faults(document)
    yield from find_page_faults(document)
    yield from find_method_faults(document, limits.available_providers)
    yield from find_partial_faults(document)
    yield from find_direct_debit_faults(document)
    yield from find_guard_faults(document, source.definitions)
    yield from find_modality_faults(document)
    yield from find_dispute_faults(document)
    yield from find_webhook_faults(document)
    yield from find_workflow_faults(document, source.definitions)


def _find_shape_faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Yield the faults of the structure. A key that is planned for a later release gets a message
    that says so, and an unknown verification method its own fault code.
    """
    unavailable_keys = {
        render_pointer([*place.split("/")[1:], key]): key
        for place, keys in NOT_AVAILABLE.items()
        for key in keys
    }
    for fault in explain_renamed_keys(find_faults(document, MerchantFile), RENAMED_KEYS):
        if fault.path in unavailable_keys and fault.code == "UNKNOWN_FIELD":
            message = (
                f'"{unavailable_keys[fault.path]}" is not available in this release; remove it.'
            )
            yield Fault(fault.path, message, "NOT_AVAILABLE")
        elif fault.code == "NOT_ALLOWED" and _VERIFICATION_METHOD.fullmatch(fault.path):
            yield Fault(fault.path, fault.message, "UNKNOWN_PROOF")
        else:
            yield fault
