"""A text may not use a value that the merchant lacks, because every message would have a gap."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_document
from tests.usecases.test_apply import Applying

PLACE = "/templates/reminder/EMAIL/body/en"


@pytest.fixture
def applying(resources: Resources, tmp_path: Path) -> Applying:
    return Applying(resources, tmp_path)


async def refuse(applying: Applying) -> list[tuple[str, str, str]]:
    before = await applying.rows()
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert await applying.rows() == before
    return [(fault.path, fault.code, fault.message) for fault in refusal.value.faults]


def add(definition: dict[str, Any], text: str) -> None:
    definition["templates"]["reminder"]["EMAIL"]["body"]["en"] += text


async def test_a_text_with_a_missing_phone_number_is_refused(applying: Applying) -> None:
    add(applying.definition, " {{ merchant.phone }}")
    assert await refuse(applying) == [
        (
            f"/workflows/0/definition{PLACE}",
            "MISSING_VALUE",
            (
                "{{ merchant.phone }} is empty: set contact.phone in the merchant's settings, or "
                "remove the placeholder."
            ),
        )
    ]
    applying.document["contact"]["phone"] = "+49 40 1"
    await applying.apply()


async def test_a_text_with_a_missing_bank_account_is_refused(
    applying: Applying,
) -> None:
    document = a_document()
    document["snippets"]["signature"]["de"] += " {{ bank.iban }}"
    (applying.path.parent / "a.yaml").write_text(yaml.safe_dump(document))
    applying.document["workflows"] = [{"name": "Standard", "file": "a.yaml"}]
    applying.document["payment"] = {"methods": [{"provider": "sandbox"}]}
    [(path, code, message)] = await refuse(applying)
    assert (path, code) == ("/workflows/0/file", "MISSING_VALUE")
    assert message.startswith("/snippets/signature/de: {{ bank.iban }} is empty: set payment.")


async def test_a_merchant_without_complete_settings_is_not_checked(applying: Applying) -> None:
    add(applying.definition, " {{ bank.iban }} {{ merchant.phone }}")
    del applying.document["payment"]
    await applying.apply()


async def test_values_stored_earlier_can_be_used(applying: Applying) -> None:
    await applying.apply()
    del applying.document["payment"]
    add(applying.definition, " {{ bank.iban }}")
    assert len((await applying.apply()).changes) > 0
