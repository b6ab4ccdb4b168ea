"""A user who is signed in to the portal, simulated with an HTTP client that follows links and fills
forms."""

import re
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.resources import Resources
from tests.support.application import connect
from tests.support.harness import Harness
from tests.support.users import a_new_user, build_sign_in_services, join

OWN_FORM = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
COOKIE = "dunwell-portal"
_numbers = iter(range(1, 2**31))


@dataclass
class Clerk:
    """A user's browser at a merchant."""

    http: httpx.AsyncClient
    merchant_id: int
    page: httpx.Response | None = None

    def at(self, path: str) -> str:
        """Return the full address of a path below the merchant's."""
        return f"/portal/m/{self.merchant_id}{path}"

    async def get(self, path: str, **given: Any) -> httpx.Response:
        """Send a GET request. `path` is below the merchant's, or a full path of the portal."""
        address = path if path.startswith("/portal") else self.at(path)
        self.page = await self.http.get(address, **given)
        return self.page

    async def post(self, path: str, fields: dict[str, Any], **given: Any) -> httpx.Response:
        address = path if path.startswith("/portal") else self.at(path)
        headers = given.pop("headers", OWN_FORM)
        self.page = await self.http.post(address, data=fields, headers=headers, **given)
        return self.page

    async def submit(self, path: str, /, **fields: Any) -> httpx.Response:
        """Open the form at this path, fill it in, submit it and follow the redirect."""
        shown = await self.get(path)
        assert shown.status_code == 200, shown.text
        answer = await self.post(path, {**read_fields(shown.text), **fields})
        return await self.follow(answer)

    async def send(self, path: str, /, **fields: Any) -> httpx.Response:
        """Submit the form of the current page without reloading it."""
        assert self.page is not None
        return await self.post(path, {**read_fields(self.page.text), **fields})

    async def follow(self, answer: httpx.Response) -> httpx.Response:
        while answer.status_code == 303:
            answer = await self.get(answer.headers["Location"])
        return answer


async def sign_in(
    resources: Resources,
    app: Starlette,
    harness: Harness,
    roles: UserRoles | None = None,
    **more: object,
) -> Clerk:
    """Sign in. Without roles the user is an operator for all merchants."""
    number = next(_numbers)
    services = build_sign_in_services(resources)
    new = a_new_user(
        f"clerk-{number}@example.org",
        **{"name": f"Clerk {number}", "roles": roles or UserRoles(Role.OPERATOR), **more},
    )
    person = await join(services, new)
    http = connect(app, "203.0.113.7")
    http.cookies.set(COOKIE, person.session.secret)
    return Clerk(http, harness.merchant.merchant_id)


def read_fields(page: str) -> dict[str, str]:
    """Return the fields of the page's last form: hidden fields, inputs, texts and selected
    options."""
    forms = [
        each for each in re.findall(r"<form.*?</form>", page, re.DOTALL) if 'method="post"' in each
    ]
    main = [each for each in forms if "sign-out" not in each]
    assert main, "the page has no form"
    form, fields = main[0], dict[str, str]()
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        is_box = 'type="radio"' in tag or 'type="checkbox"' in tag
        if name and (not is_box or " checked" in tag):
            fields[name[1]] = _plain(value[1]) if value else ("on" if is_box else "")
    for name, value in re.findall(
        r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL
    ):
        fields[name] = _plain(value)
    for name, options in re.findall(
        r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', form, re.DOTALL
    ):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        fields[name] = _plain(chosen[1]) if chosen else ""
    return fields


def _plain(text: str) -> str:
    for entity, sign in (
        ("&#34;", '"'),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ):
        text = text.replace(entity, sign)
    return text
