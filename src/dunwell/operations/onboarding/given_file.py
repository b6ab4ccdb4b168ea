"""A merchant file that somebody gives, as text, to a merchant who is there: what it says of itself
(key, sandbox) gives way to the merchant's, and it must hold all that it needs in itself, for no
file of ours is read for it.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.operations.onboarding.file import find_process_key
from dunwell.operations.onboarding.logo import LOGO_PLACE, LogoMaker, find_logo
from dunwell.operations.onboarding.logo_data import DATA, read_data
from dunwell.operations.onboarding.reading import Source
from dunwell.operations.onboarding.vector_image import ImageRefused
from dunwell.platform.children.document_reader import DocumentReader
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.yaml_document import DocumentFaulty

_LOGO_PATH = (
    'A file that is given here brings its logo in itself: "data:image/png;base64," and the image.'
)
_FILE_PATH = "A file that is given here brings its definitions in itself, under the definition key."


async def read_given(
    text: str, merchant: Merchant, documents: DocumentReader, *, logos: LogoMaker, key: Hashable
) -> Source:
    """Raises ValidationError when it is no YAML at all, RateLimited and Unavailable; what else is
    wrong is among the source's faults. Child processes read the file and its logo, so this is not
    called within a transaction. key: who gives the file."""
    try:
        document = await documents.read(text, key, lambda value: value)
    except DocumentFaulty as error:
        raise ValidationError([Fault("", f"It is no YAML. {error}", "NOT_YAML")]) from error
    if not isinstance(document, dict):
        return Source(document, {}, [])
    own = {
        "key": merchant.key,
        "sandbox": merchant.is_sandbox,
        "switchedToWorkflows": merchant.switched_to_workflows,
    }
    return await _add_logo(Source({**document, **own}, {}, _find_paths(document)), merchant, logos)


def _find_paths(document: dict[str, Any]) -> list[Fault]:
    key = find_process_key(document)
    processes = document.get(key)
    return [
        Fault(render_pointer([key, index, "file"]), _FILE_PATH, "NOT_HERE")
        for index, each in enumerate(processes if isinstance(processes, list) else [])
        if isinstance(each, dict) and "file" in each
    ]


async def _add_logo(source: Source, merchant: Merchant, logos: LogoMaker) -> Source:
    name, present = find_logo(source.document), merchant.configuration.brand.logo
    if name is None:
        return source
    if not name.startswith(DATA):
        fault = Fault(LOGO_PLACE, _LOGO_PATH, "NOT_HERE")
        return replace(source, faults=[*source.faults, fault])
    try:
        content = read_data(name)
        # What is there was looked into when it came; written anew once more, it would be another.
        is_present = present is not None and present.content == content and present.png is not None
        logo = present if is_present else await logos.make_logo(content)
        return replace(source, logo=logo)
    except ImageRefused as refusal:
        fault = Fault(LOGO_PLACE, f"The image is not taken. {refusal}", "WRONG_IMAGE")
        return replace(source, faults=[*source.faults, fault])
