"""Rules of all addresses: methods, slashes, hosts, and the headers of every response."""

from dataclasses import replace

import httpx
import pytest

from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.wiring import open_web
from dunwell.platform.resources import Resources
from tests.support.api import Api
from tests.support.application import ORIGIN, connect
from tests.support.interfaces import list_addresses


async def test_head_returns_the_headers_of_get_without_a_body_at_every_address(
    api: Api, resources: Resources
) -> None:
    headers = {"Authorization": f"Bearer {api.nordwind.token}"}
    async with open_web(resources) as web:
        for app in (web.app, web.operators.app):
            read = [path for path, methods in list_addresses(app).items() if "GET" in methods]
            async with connect(app) as http:
                for path in read:
                    get = await http.get(path, headers=headers)
                    head = await http.head(path, headers=headers)
                    assert head.content == b""
                    assert _outline(head) == _outline(get), path
            assert read


def _outline(answer: httpx.Response) -> tuple[int, dict[str, str]]:
    """Return the status and the headers without those that differ between any two responses."""
    own = {"x-request-id", "set-cookie", "last-modified"}
    return answer.status_code, {
        name: each for name, each in answer.headers.items() if name not in own
    }


async def test_an_operation_that_reads_accepts_head(api: Api) -> None:
    path = f"/api/merchants/{api.nordwind.merchant_id}/events"
    headers = {"Authorization": f"Bearer {api.nordwind.token}"}
    http = api.nordwind.http

    head, get = [await http.request(each, path, headers=headers) for each in ("HEAD", "GET")]

    assert head.content == b""
    assert head.status_code == get.status_code == 200
    assert head.headers["Content-Length"] == get.headers["Content-Length"]


@pytest.mark.parametrize("path", dict.fromkeys(each.path for each in OPERATIONS))
async def test_every_address_of_the_api_lists_its_methods(api: Api, path: str) -> None:
    methods: set[str] = {each.method for each in OPERATIONS if each.path == path}
    methods |= {"HEAD"} if "GET" in methods else set()

    options = await api.nordwind.http.options(f"/api{path}")
    wrong = await api.nordwind.http.request("TRACE", f"/api{path}")

    assert (options.status_code, options.content) == (204, b"")
    assert options.headers["Allow"] == ", ".join(sorted({*methods, "OPTIONS"}))
    assert wrong.status_code == 405
    assert wrong.headers["Allow"] == ", ".join(sorted(methods))


@pytest.mark.parametrize("path", ["/healthz/", "//healthz", "/docs//claims/", "/api//openapi.json"])
async def test_additional_slashes_are_ignored(api: Api, path: str) -> None:
    answer = await api.nordwind.http.get(f"{ORIGIN}{path}")

    assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/nothing", "/api", "/api/nothing", "/api/merchants/1"])
async def test_an_unknown_address_returns_the_error_envelope(api: Api, path: str) -> None:
    answer = await api.nordwind.http.get(path)

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
    assert path in answer.json()["error"]["message"]


async def test_an_impossible_host_is_refused(api: Api) -> None:
    answer = await api.nordwind.http.get("/healthz", headers={"Host": "a b"})

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")


async def test_a_request_with_two_hosts_is_refused(api: Api) -> None:
    for path in ("/healthz", "/docs"):
        for second in ("127.0.0.1:8000", "other.example"):
            headers = [("Host", "127.0.0.1:8000"), ("Host", second)]
            answer = await api.nordwind.http.get(f"{ORIGIN}{path}", headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["type"] == "InvalidRequest"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "127.0.0.1", "127.9.9.9:1", "localhost:9000", "LocalHost", "[::1]:8000",
     "dunwell.localhost"],
)  # fmt: skip
async def test_development_accepts_the_local_machines_names(api: Api, host: str) -> None:
    answer = await api.nordwind.http.get(f"{ORIGIN}/docs", headers={"Host": host})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "attacker.example:8000", "127.0.0.1.attacker.example", "192.168.1.1",
     "localhost.attacker.example", "evil-localhost", "attacker@127.0.0.1", "[::2]", "0.0.0.0", ""],
)  # fmt: skip
async def test_development_refuses_other_host_names(api: Api, host: str) -> None:
    for path in ("/docs", "/metrics", "/api/openapi.json"):
        answer = await api.nordwind.http.get(f"{ORIGIN}{path}", headers={"Host": host})
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "InvalidRequest"

    health = await api.nordwind.http.get(f"{ORIGIN}/healthz", headers={"Host": host})
    assert health.status_code == 200


async def test_development_accepts_its_public_address(resources: Resources) -> None:
    settings = replace(resources.settings, public_url="https://try.example")
    async with open_web(replace(resources, settings=settings)) as web, connect(web.app) as http:
        for host, status in {"try.example": 200, "other.example": 400}.items():
            answer = await http.get("/docs", headers={"Host": host})
            assert answer.status_code == status


@pytest.mark.parametrize("path", ["/healthz", "/docs", "/nothing", "/api/token", "/metrics"])
async def test_every_response_has_a_unique_request_id_and_is_not_cached(
    api: Api, path: str
) -> None:
    answers = [await api.nordwind.http.get(path) for _ in range(2)]

    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 2
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}
