"""The OpenAPI document and the reference page."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.failures import KINDS
from dunwell.interfaces.api.operation import Operation
from dunwell.interfaces.api.reference.components import get_failure_name
from dunwell.interfaces.api.reference.document import build_document
from dunwell.interfaces.api.reference.routes import encode_document
from tests.support.api import Api

load_document = cache(build_document)
COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_committed_document_is_up_to_date() -> None:
    assert COMMITTED.read_bytes() == encode_document(), "run tools/write_openapi.py"


async def test_the_document_is_served(api: Api) -> None:
    answer = await api.nordwind.http.get("/api/openapi.json")

    assert answer.headers["Content-Type"] == "application/json"
    assert answer.content == encode_document()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.operation_id)
def test_every_example_matches_its_schema(operation: Operation) -> None:
    document = load_document()
    described = document["paths"][operation.path][operation.method.lower()]
    answers: dict[str, Any] = described["responses"]["200"]["content"]
    # An operation that returns a file has no example.
    contents = [] if operation.file_types else [answers["application/json"]]
    if operation.body and operation.body.media_type.endswith("json"):
        contents.append(described["requestBody"]["content"][operation.body.media_type])
    for content in contents:
        whole = {**content["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(content["example"])


def test_every_error_type_has_its_status_cause_and_remedy() -> None:
    schemas = load_document()["components"]["schemas"]
    for kind in KINDS:
        assert schemas[get_failure_name(kind)]["x-status"] == kind.status
        assert kind.cause in schemas[get_failure_name(kind)]["description"]
        assert kind.remedy in schemas[get_failure_name(kind)]["description"]


def test_every_reference_in_the_document_resolves() -> None:
    document = load_document()
    names = re.findall(rb'"#/components/(\w+)/([\w-]+)"', encode_document())
    assert names
    for part, name in names:
        assert name.decode() in document["components"][part.decode()]


async def test_the_page_shows_everything_and_loads_nothing_from_elsewhere(api: Api) -> None:
    page = await api.nordwind.http.get("/docs")

    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Content-Security-Policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'"
    )
    for operation in OPERATIONS:
        assert f'id="{operation.operation_id}"' in page.text
    for kind in KINDS:
        assert f'id="error-{kind.name}"' in page.text
    addresses = set(re.findall(r'(?:src|href)="([^"#]+)"', page.text))
    assert addresses == {"/docs/style.css", "/docs/guides", "/api/openapi.json", "data:,"}
    assert not re.search(r"<script|<style| style=| on\w+=", page.text)
    style = await api.nordwind.http.get("/docs/style.css")
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "url(" not in style.text


async def test_additions_are_marked_in_the_document_only(api: Api) -> None:
    page = (await api.nordwind.http.get("/docs")).text
    assert re.findall(r"x-addition|\baddition\b", page.lower()) == []
    # Debtors' contracts have numbers, but readers of the reference do not know this API's contract.
    assert "the contract" not in page.replace("number for the contract", "")
    document = (await api.nordwind.http.get("/api/openapi.json")).text
    assert document.count('"x-addition": true') > 50


@pytest.mark.parametrize("path", ["/docs", "/docs/claims", "/docs/guides", "/docs/style.css"])
async def test_the_documentation_is_compressed_if_the_client_accepts_it(
    api: Api, path: str
) -> None:
    http = api.nordwind.http
    plain = await http.get(path, headers={"Accept-Encoding": "identity"})
    refused = await http.get(path, headers={"Accept-Encoding": "br, gzip;q=0"})
    packed = await http.get(path, headers={"Accept-Encoding": "deflate, GZIP;q=0.5"})
    assert "Content-Encoding" not in plain.headers
    assert "Content-Encoding" not in refused.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert {each.headers["Vary"] for each in (plain, packed)} == {"Accept-Encoding"}
    assert packed.content == plain.content
    assert int(packed.headers["Content-Length"]) < len(plain.content) / 2


@pytest.mark.parametrize("path", ["/docs/nothing", "/docs/claims/nothing", "/docs/a%20b.html"])
async def test_an_unknown_page_of_the_documentation_is_a_page_for_browsers(
    api: Api, path: str
) -> None:
    browser = await api.nordwind.http.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (browser.status_code, browser.headers["Content-Type"]) == (
        404, "text/html; charset=utf-8",
    )  # fmt: skip
    assert "Page not found" in browser.text
    links = set(re.findall(r'href="(/docs[^"#]*)"', browser.text))
    assert {"/docs", "/docs/guides"} <= links
    for link in links:
        assert (await api.nordwind.http.get(link)).status_code == 200
    program = await api.nordwind.http.get(path)
    assert (program.status_code, program.json()["error"]["type"]) == (404, "NotFound")


async def test_every_link_within_the_page_works(api: Api) -> None:
    page = (await api.nordwind.http.get("/docs")).text
    ids = re.findall(r'id="([^"]+)"', page)

    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def count_of_lists(figures: str) -> float:
    """Return how often workflows were listed, including by other tests of this process."""
    name = 'dunwell_api_requests_total{operation="listWorkflows",status="200"} '
    [line] = [each for each in figures.splitlines() if each.startswith(name)]
    return float(line.removeprefix(name))


async def test_metrics_count_requests_and_contain_no_names(api: Api) -> None:
    await api.nordwind.get("/workflows-meta")
    before = (await api.nordwind.http.get("/metrics")).text
    await api.nordwind.get("/workflows-meta")

    figures = await api.nordwind.http.get("/metrics")

    assert count_of_lists(figures.text) == count_of_lists(before) + 1
    assert api.nordwind.credential.client_id not in figures.text
    assert figures.headers["X-Request-Id"]
