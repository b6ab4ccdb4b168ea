"""The portal shows how much of its file storage a merchant uses, and warns before it is full."""

import pytest

from dunwell.platform.resources import Resources
from tests.support.full_storage import leave_free
from tests.support.harness import Harness
from tests.support.portal import Clerk

_GIB = 1024**3
_NEAR = {
    "en": "The file storage is 80% full (8.6 GB of 10.7 GB).",
    "de": "Der Dateispeicher ist zu 80 % voll (8,6 GB von 10,7 GB).",
}
_FULL = {"en": "The file storage is full", "de": "Der Dateispeicher ist voll"}


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_overview_warns_clerks_and_operators_at_80_percent_storage(
    resources: Resources, harness: Harness, clerk: Clerk, staff: Clerk, language: str
) -> None:
    merchant_id = harness.merchant.merchant_id
    for visitor in (clerk, staff):
        await visitor.get(f"?lang={language}")
        shown = []
        for free_bytes in (2 * _GIB + 1, 2 * _GIB, 0):
            await leave_free(resources, merchant_id, free_bytes)
            page = await visitor.get("")
            shown.append(page.text.replace("\N{NO-BREAK SPACE}", " "))
        below, near, full = shown
        assert _NEAR[language] not in below
        assert _NEAR[language] in near
        assert _FULL[language] in full
        assert _FULL[language] not in below + near


async def test_the_settings_always_show_the_storage_use(
    resources: Resources, harness: Harness, clerk: Clerk
) -> None:
    await clerk.get("?lang=en")
    merchant_id = harness.merchant.merchant_id
    nothing = (await clerk.get("/settings")).text
    await leave_free(resources, merchant_id, 2 * _GIB)
    near = (await clerk.get("/settings")).text
    await leave_free(resources, merchant_id, 0)
    full = (await clerk.get("/settings")).text

    assert "used (0%)" in nothing
    assert "almost full" not in nothing
    assert "used (80%)" in near
    assert "almost full" in near
    assert "used (100%)" in full
    assert ">full</span>" in full
