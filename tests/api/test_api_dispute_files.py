"""The evidence of a debtor, as the merchant downloads it."""

import re

import pytest

from tests.support.api import Api
from tests.support.disputes import dispute, give_evidence
from tests.support.files import an_image
from tests.support.hostile_pdfs import EVIL

ABSENT = "01955c04-1180-7f02-a6de-31b2c3d4e5f6"


async def test_a_dispute_lists_its_files_oldest_first(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    without = await dispute(api.harness, claim_id, "DEFECTIVE")
    opened = await dispute(api.harness, claim_id)
    first = await give_evidence(api.harness, opened)
    second = await give_evidence(api.harness, opened, "a.png", an_image("PNG"))

    listed = (await api.nordwind.get(f"/claims/{claim_id}/disputes")).json()["result"]["items"]

    by_id = {each["id"]: each["files"] for each in listed}
    assert by_id[str(without.dispute_id)] == []
    [pdf, png] = by_id[str(opened.dispute_id)]
    assert [pdf["id"], png["id"]] == [str(first), str(second)]
    assert (png["name"], png["contentType"]) == ("a.png", "image/png")
    assert png["addedAt"] == "2026-03-02T09:00:00.000Z"


async def test_a_file_is_downloaded_and_never_shown_inline(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await dispute(api.harness, claim_id)
    file_id = await give_evidence(api.harness, opened, 'a"b.png', an_image("PNG") + EVIL)

    answer = await api.nordwind.get(
        f"/claims/{claim_id}/disputes/{opened.dispute_id}/files/{file_id}/content"
    )

    assert answer.status_code == 200
    assert EVIL not in answer.content
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="a_b.png"')
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert re.search(r"sandbox$", answer.headers["Content-Security-Policy"])


@pytest.mark.parametrize("position", ["claim", "dispute", "file"])
async def test_a_file_is_found_only_under_its_own_dispute_and_claim(
    api: Api, position: str
) -> None:
    claim_id, other_claim = await api.nordwind.create("A-1", "A-2")
    opened = await dispute(api.harness, claim_id)
    other = await dispute(api.harness, claim_id, "DEFECTIVE")
    file_id = await give_evidence(api.harness, opened)
    ids = {"claim": claim_id, "dispute": opened.dispute_id, "file": file_id}
    ids[position] = {"claim": other_claim, "dispute": other.dispute_id, "file": ABSENT}[position]

    answer = await api.nordwind.get(
        f"/claims/{ids['claim']}/disputes/{ids['dispute']}/files/{ids['file']}/content"
    )

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


async def test_a_dispute_that_ended_its_claim_keeps_its_files(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await dispute(api.harness, claim_id)
    file_id = await give_evidence(api.harness, opened)
    path = f"/claims/{claim_id}/disputes/{opened.dispute_id}"

    resolved = await api.nordwind.post(f"{path}/resolve", {"outcome": "ACCEPTED"})

    assert [each["name"] for each in resolved.json()["result"]["files"]] == ["offer.pdf"]
    assert (await api.nordwind.get(f"{path}/files/{file_id}/content")).status_code == 200
