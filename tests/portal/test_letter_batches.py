"""The pages of print batches, which only operators of all merchants may open."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.delivery_providers import routes
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.backup_restore import back_up, restore
from tests.support.letter_harness import LetterHarness, a_harness_with_a_folder, write_status
from tests.support.portal import Clerk, sign_in

_BATCHES = "SELECT batch_id FROM letter_batches WHERE $1 > 0 ORDER BY batch_id DESC"
_ITEMS = "SELECT state, doubt FROM letter_batch_items WHERE merchant_id = $1 ORDER BY handed_at"
_AUDIT = "SELECT action, after FROM installation_audit WHERE $1 > 0 AND action = 'letters.settle'"
_LIST = "/portal/delivery-providers/batches"
_ASKED = "/portal/delivery-providers/post/doubtful-letters"
_NOON = "2026-03-04T12:00:00Z"


@pytest.fixture
async def letter_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[LetterHarness]:
    folder = tmp_path / "letters"
    line = FolderProvider(channel="LETTER", folder=str(folder))
    await apply_installation(resources, Installation(delivery_providers={"post": line}))
    letter_harness = await a_harness_with_a_folder(
        resources, clock, folder, BatchSettings(every_minutes=60, most=3)
    )
    yield letter_harness
    await letter_harness.adapter.close()


async def a_clerk(letter_harness: LetterHarness, roles: UserRoles | None = None) -> Clerk:
    app = an_application(letter_harness.harness.resources).app
    return await sign_in(
        letter_harness.harness.resources, app, letter_harness.harness, *([roles] if roles else [])
    )


async def release(letter_harness: LetterHarness, *references: str) -> None:
    await letter_harness.create(*references)
    letter_harness.harness.clock.advance(timedelta(hours=1))
    assert await letter_harness.release() == len(references)
    letter_harness.harness.clock.advance(timedelta(days=1))


async def lose(letter_harness: LetterHarness, *references: str) -> None:
    """Restore a backup that was made while the letters were waiting. Nothing records whether they
    were released after the backup."""
    await letter_harness.create(*references)
    backup = await back_up(letter_harness.harness.resources)
    letter_harness.harness.clock.advance(timedelta(hours=1))
    await restore(letter_harness.harness.resources, backup)
    await letter_harness.release()


@pytest.mark.parametrize("language", ["en", "de"])
async def test_a_batch_is_shown_with_the_outcome_of_its_letters(
    letter_harness: LetterHarness, language: str
) -> None:
    await release(letter_harness, "A-1", "A-2", "A-3")
    first, second, _ = letter_harness.references()
    letter_harness.write_status_file(
        "monday.csv", write_status((first, "returned", _NOON), (second, "posted", _NOON))
    )
    letter_harness.write_status_file("broken.csv", "a;b\n")
    await letter_harness.read_statuses()
    clerk = await a_clerk(letter_harness)
    await clerk.get(f"?lang={language}")
    shown = (await clerk.get(_LIST)).text
    words = {
        "en": ("released", "monday.csv", "processed", "rejected", "its header lacks one of"),
        "de": ("freigegeben", "monday.csv", "verarbeitet", "abgelehnt", "its header lacks one of"),
    }
    for word in words[language]:
        assert word in shown
    [row] = await letter_harness.harness.rows(_BATCHES)
    page = f"{_LIST}/{row['batch_id']}"
    failed_text = {"en": "1 not delivered", "de": "1 nicht zugestellt"}[language]
    assert f'href="{page}?show=failed">{failed_text}</a>' in shown
    whole = (await clerk.get(page)).text
    for reference in ("A-1", "A-2", "A-3"):
        assert f">{reference}</bdi>" in whole
    assert {"en": "returned", "de": "zurückgekommen"}[language] in whole
    failed = (await clerk.get(f"{page}?show=failed")).text
    assert failed.count(".pdf</td>") == 1


async def test_the_letters_of_a_batch_link_to_their_claims(letter_harness: LetterHarness) -> None:
    (claim,) = await letter_harness.create("A-1")
    letter_harness.harness.clock.advance(timedelta(hours=1))
    await letter_harness.release()
    clerk = await a_clerk(letter_harness)
    [row] = await letter_harness.harness.rows(_BATCHES)
    shown = (await clerk.get(f"{_LIST}/{row['batch_id']}")).text
    assert f'href="{clerk.at(f"/claims/{claim}")}"' in shown
    letter = clerk.at(f"/claims/{claim}/messages/") + shown.partition("/messages/")[2][:36]
    assert f'href="{letter}"' in shown
    assert (await clerk.get(letter)).status_code == 200


async def test_lists_continue_on_the_next_page(
    letter_harness: LetterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "PAGE_SIZE", 1)
    await release(letter_harness, "A-1", "A-2")
    await release(letter_harness, "A-3")
    clerk = await a_clerk(letter_harness)
    newest, oldest = (str(row["batch_id"]) for row in await letter_harness.harness.rows(_BATCHES))
    first = await clerk.get(_LIST)
    assert newest in first.text
    assert oldest not in first.text
    second = await clerk.get(_find_next(first.text))
    assert oldest in second.text
    assert newest not in second.text
    assert 'rel="next"' not in second.text
    letters = await clerk.get(f"{_LIST}/{oldest}")
    others = await clerk.get(_find_next(letters.text))
    assert {("A-1" in each.text, "A-2" in each.text) for each in (letters, others)} == {
        (True, False), (False, True),
    }  # fmt: skip
    assert (await clerk.get(f"{_LIST}?after=x")).text.count(newest) > 0
    assert "No entries" in (await clerk.get(f"{_LIST}?provider=other")).text


async def test_waiting_letters_are_counted(letter_harness: LetterHarness) -> None:
    await letter_harness.create("A-1", "A-2")
    clerk = await a_clerk(letter_harness)
    assert "2 letters" in (await clerk.get(_LIST)).text
    assert _LIST in (await clerk.get("/portal/delivery-providers")).text


async def test_an_operator_resolves_letters_whose_release_is_unknown(
    letter_harness: LetterHarness,
) -> None:
    await lose(letter_harness, "A-1", "A-2")
    clerk = await a_clerk(letter_harness)
    assert f'<a href="{_ASKED}">Resolve 2 letters</a>' in (await clerk.get(_LIST)).text
    page = (await clerk.get(_ASKED)).text
    first, second = _find_boxes(page)
    token = _find_token(page)
    done = await clerk.post(_ASKED, {"token": token, "letter": first, "outcome": "released"})
    assert done.status_code == 303
    assert "Resolved." in (await clerk.follow(done)).text
    assert _find_boxes((await clerk.get(_ASKED)).text) == [second]
    again = await clerk.post(_ASKED, {"token": token, "letter": first, "outcome": "not_released"})
    assert "Someone else has already resolved this." in (await clerk.follow(again)).text
    await clerk.post(_ASKED, {"token": token, "letter": second, "outcome": "not_released"})
    states = sorted(
        (row["state"], row["doubt"]) for row in await letter_harness.harness.rows(_ITEMS)
    )
    assert states == [("RELEASED", None), ("WAITING", None)]
    audited = [row["after"] for row in await letter_harness.harness.rows(_AUDIT)]
    assert sorted(audited, key=str) == [
        {"letters": 1, "released": False}, {"letters": 1, "released": True},
    ]  # fmt: skip


@pytest.mark.parametrize("given", ["letter", "outcome", "strange"])
async def test_an_incomplete_form_resolves_nothing_and_keeps_its_values(
    letter_harness: LetterHarness, given: str
) -> None:
    await lose(letter_harness, "A-1")
    clerk = await a_clerk(letter_harness)
    page = (await clerk.get(_ASKED)).text
    [box] = _find_boxes(page)
    fields = {
        "letter": {"letter": box, "outcome": "x"}, "outcome": {"outcome": "released"},
        "strange": {"letter": "1.x", "outcome": "released"},
    }[given]  # fmt: skip
    refused = await clerk.post(_ASKED, {"token": _find_token(page), **fields})
    assert refused.status_code == 422
    assert ("checked" in refused.text) is True
    assert [tuple(row) for row in await letter_harness.harness.rows(_ITEMS)] == [
        ("WAITING", "UNCONFIRMED")
    ]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.AUDITOR, Role.MERCHANT_USER])
async def test_the_page_is_only_for_operators_of_all_merchants(
    letter_harness: LetterHarness, role: Role
) -> None:
    await lose(letter_harness, "A-1")
    roles = UserRoles(memberships={letter_harness.harness.merchant.merchant_id: role})
    clerk = await a_clerk(letter_harness, roles)
    for path in (_LIST, _ASKED, f"{_LIST}/0190a0a0-0000-7000-8000-000000000000"):
        refused = await clerk.get(path)
        assert refused.status_code in (403, 404)
        assert "A-1" not in refused.text
    own = (await clerk.get("/portal/account")).text
    fields = {"token": _find_token(own), "letter": "1.x", "outcome": "released"}
    assert (await clerk.post(_ASKED, fields)).status_code in (403, 404, 422)
    assert [tuple(row) for row in await letter_harness.harness.rows(_ITEMS)] == [
        ("WAITING", "UNCONFIRMED")
    ]


def _find_next(page: str) -> str:
    link = page.partition('rel="next" href="')[2].partition('"')[0]
    assert link
    return link.replace("&amp;", "&")


def _find_boxes(page: str) -> list[str]:
    return [part.partition('"')[0] for part in page.split('name="letter" value="')[1:]]


def _find_token(page: str) -> str:
    return page.partition('name="token" value="')[2].partition('"')[0]
