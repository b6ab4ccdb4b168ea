"""Attachments: created with the claim, attached later, replaced and deleted."""

from typing import Any

import httpx

from tests.support.api import Answer, Api, Client
from tests.support.files import a_pdf, an_image


async def upload(client: Client, name: str = "invoice.pdf", pages: int = 1) -> str:
    content = an_image("PNG") if name.endswith("png") else a_pdf(pages)
    ticket: str = (await client.upload(name, content)).json()["result"]["ticketId"]
    return ticket


def build_attachment(ticket_id: str) -> dict[str, str]:
    return {"sourceType": "TICKET", "source": ticket_id}


async def attach(api: Api, claim_id: int, ticket_id: str, **given: Any) -> httpx.Response:
    path = f"/claims/{claim_id}/attachments"
    return await api.nordwind.post(path, build_attachment(ticket_id), **given)


async def upload_and_attach(
    api: Api, claim_id: int, name: str = "invoice.pdf", pages: int = 1
) -> Answer:
    """Upload a new file, attach it and return the attachment."""
    answer = await attach(api, claim_id, await upload(api.nordwind, name, pages))
    assert answer.status_code == 200, answer.text
    found: Answer = answer.json()["result"]
    return found


async def send(api: Api, method: str, path: str, **given: Any) -> httpx.Response:
    merchant_id = api.nordwind.merchant_id
    return await api.nordwind.send(method, f"/merchants/{merchant_id}{path}", **given)


async def list_all(api: Api, claim_id: int) -> list[Answer]:
    listed = (await api.nordwind.get(f"/claims/{claim_id}/attachments")).json()["result"]
    assert listed["nextCursor"] is None
    found: list[Answer] = listed["items"]
    return found


async def test_a_claim_is_created_with_an_uploaded_file(api: Api) -> None:
    ticket_id = await upload(api.nordwind)
    [claim_id] = await api.nordwind.create(attachments=[build_attachment(ticket_id)])

    [listed] = await list_all(api, claim_id)

    assert listed == {
        "id": listed["id"], "friendlyName": "Invoice 1001", "fileName": "invoice.pdf",
        "contentType": "application/pdf", "size": listed["size"],
        "createdAt": "2026-03-02T09:00:00.000Z", "state": "READY",
    }  # fmt: skip
    path = f"/claims/{claim_id}/attachments/{listed['id']}"
    assert (await api.nordwind.get(path)).json()["result"] == listed
    assert len((await api.nordwind.get(f"{path}/content")).content) == listed["size"]


async def test_a_file_is_attached_to_an_existing_claim(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    first = await upload_and_attach(api, claim_id)

    second = await upload_and_attach(api, claim_id, "photo.png")

    assert second["contentType"] == "image/png"
    assert await list_all(api, claim_id) == [second, first]


async def test_a_claim_shows_its_attachments_newest_first(api: Api) -> None:
    ticket_id = await upload(api.nordwind)
    bare, claim_id = await api.nordwind.create("A-1", "A-2")
    await upload_and_attach(api, claim_id)
    await attach(api, claim_id, ticket_id)

    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]

    assert len(claim["attachments"]) == 2
    assert claim["attachments"] == await list_all(api, claim_id)
    assert (await api.nordwind.get(f"/claims/{bare}")).json()["result"]["attachments"] == []


async def test_a_file_of_several_claims_is_kept_while_one_claim_uses_it(api: Api) -> None:
    ticket_id = await upload(api.nordwind)
    one, two = await api.nordwind.create("A-1", "A-2", attachments=[build_attachment(ticket_id)])
    [first], [second] = await list_all(api, one), await list_all(api, two)

    deleted = await send(api, "DELETE", f"/claims/{one}/attachments/{first['id']}")

    assert deleted.json()["result"] == first
    assert await list_all(api, one) == []
    content = await api.nordwind.get(f"/claims/{two}/attachments/{second['id']}/content")
    assert content.content.startswith(b"%PDF-")
    third = (await attach(api, one, ticket_id)).json()["result"]
    assert (third["id"], third["size"]) != (first["id"], 0)


async def test_a_file_is_downloaded_under_its_friendly_name_and_never_shown_inline(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    form = {"friendlyName": (None, 'Müller "A"/B; x=%41'), "fileName": ("a.pdf", a_pdf())}
    ticket_id = (await api.nordwind.post("/uploads", files=form)).json()["result"]["ticketId"]
    attachment = (await attach(api, claim_id, ticket_id)).json()["result"]

    path = f"/claims/{claim_id}/attachments/{attachment['id']}/content"
    answer = await api.nordwind.get(path)

    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="M_ller _A_-B; x=_41.pdf"; '
        "filename*=UTF-8''M%C3%BCller%20%22A%22-B%3B%20x%3D%2541.pdf"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == (
        "default-src 'none'; frame-ancestors 'none'; sandbox"
    )
    assert answer.headers["Cache-Control"] == "no-store"


async def test_replacing_a_file_keeps_its_id_and_does_not_change_other_claims(api: Api) -> None:
    ticket_id = await upload(api.nordwind)
    one, two = await api.nordwind.create("A-1", "A-2", attachments=[build_attachment(ticket_id)])
    [before], [other] = await list_all(api, one), await list_all(api, two)
    path = f"/claims/{one}/attachments/{before['id']}"

    new = build_attachment(await upload(api.nordwind, "photo.png"))
    answer = await send(api, "PUT", path, json=new)

    after = answer.json()["result"]
    assert (after["id"], after["createdAt"]) == (before["id"], before["createdAt"])
    assert (after["fileName"], after["contentType"]) == ("photo.png", "image/png")
    assert (await api.nordwind.get(f"{path}/content")).content.startswith(b"\x89PNG")
    assert await list_all(api, two) == [other]
    assert (await send(api, "PUT", path, json=new)).json()["result"] == after


async def test_attaching_a_ticket_twice_returns_the_same_attachment(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    ticket_id = await upload(api.nordwind)

    first, again = await attach(api, claim_id, ticket_id), await attach(api, claim_id, ticket_id)

    assert first.content == again.content
    assert await api.count("attachments") == 1


async def test_the_twenty_first_attachment_is_refused(api: Api) -> None:
    tickets = [build_attachment(await upload(api.nordwind)) for _ in range(20)]
    [claim_id] = await api.nordwind.create(attachments=tickets)

    answer = await attach(api, claim_id, await upload(api.nordwind))

    assert answer.status_code == 422
    assert [each["code"] for each in answer.json()["error"]["details"]["errors"]] == ["TOO_MANY"]
    assert await api.count("attachments") == 20


async def test_an_ended_claim_accepts_no_files_and_keeps_its_own(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    before = await upload_and_attach(api, claim_id)
    path = f"/claims/{claim_id}/attachments/{before['id']}"
    await api.nordwind.post(f"/claims/{claim_id}/withdraw")
    ticket_id = await upload(api.nordwind)

    refused = (
        await attach(api, claim_id, ticket_id),
        await send(api, "PUT", path, json=build_attachment(ticket_id)),
    )

    for answer in refused:
        assert answer.status_code == 409
        assert answer.json()["error"]["details"] == {"state": "WITHDRAWN"}
    assert await list_all(api, claim_id) == [before]
    assert (await api.nordwind.get(f"{path}/content")).status_code == 200
    assert (await send(api, "DELETE", path)).status_code == 200


async def test_an_attachment_of_another_claim_is_not_found(api: Api) -> None:
    one, two = await api.nordwind.create("A-1", "A-2")
    theirs = await upload_and_attach(api, one)

    path = f"/claims/{two}/attachments/{theirs['id']}"
    answers = [await send(api, "GET", path + "/content"), await send(api, "DELETE", path)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert await list_all(api, one) == [theirs]
