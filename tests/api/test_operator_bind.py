"""What the operators' address serves, what both addresses serve, and which hosts are accepted in
production."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from dunwell.interfaces.api.edge import list_host_names
from dunwell.interfaces.wiring import WebService, open_web
from dunwell.platform.resources import Resources
from tests.support.application import connect

_PUBLIC = "claims.example.com"


@asynccontextmanager
async def _in_production(resources: Resources) -> AsyncIterator[WebService]:
    settings = replace(resources.settings, profile="production", public_url=f"https://{_PUBLIC}")
    async with open_web(replace(resources, settings=settings)) as web:
        yield web


async def test_in_production_only_the_operators_address_serves_metrics(
    resources: Resources,
) -> None:
    async with _in_production(resources) as web:
        async with connect(web.app) as http:
            public = await http.get("/metrics", headers={"Host": _PUBLIC})
        async with connect(web.operators.app) as http:
            inside = await http.get("/metrics", headers={"Host": "10.0.0.7:9100"})
            elsewhere = await http.get("/docs")

    assert (public.status_code, inside.status_code, elsewhere.status_code) == (404, 200, 404)
    assert "dunwell_" in inside.text


async def test_the_operators_metrics_count_requests_to_the_public_address(
    resources: Resources,
) -> None:
    async with _in_production(resources) as web:
        async with connect(web.app) as http:
            await http.post("/api/token", headers={"Host": _PUBLIC})
        async with connect(web.operators.app) as http:
            figures = (await http.get("/metrics")).text

    assert 'dunwell_api_requests_total{operation="obtainToken",status="401"} 1.0' in figures


async def test_in_development_metrics_are_served_at_the_public_address(
    resources: Resources,
) -> None:
    async with open_web(resources) as web, connect(web.app) as http:
        assert (await http.get("/metrics")).status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("host", ["10.0.0.7", _PUBLIC, "10.0.0.7:8000"])
async def test_both_addresses_report_health_for_any_host(
    resources: Resources, path: str, host: str
) -> None:
    async with _in_production(resources) as web:
        for app in (web.app, web.operators.app):
            async with connect(app) as http:
                assert (await http.get(path, headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", [_PUBLIC, f"{_PUBLIC.upper()}:443"])
@pytest.mark.parametrize("path", ["/docs", "/claim", "/api/openapi.json"])
async def test_the_public_host_serves_all_pages(resources: Resources, host: str, path: str) -> None:
    async with _in_production(resources) as web, connect(web.app) as http:
        assert (await http.get(path, headers={"Host": host})).status_code not in {400, 404}


@pytest.mark.parametrize("host", ["10.0.0.7", "evil.example", f"{_PUBLIC}:8443", f"a.{_PUBLIC}"])
@pytest.mark.parametrize("path", ["/docs", "/claim", "/api/openapi.json", "/healthz/more"])
async def test_another_host_is_refused(resources: Resources, host: str, path: str) -> None:
    async with _in_production(resources) as web, connect(web.app) as http:
        answer = await http.get(path, headers={"Host": host})

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")
    assert f"https://{_PUBLIC}" in answer.json()["error"]["message"]


def test_the_default_port_may_be_given_or_omitted() -> None:
    assert list_host_names("https://A.example") == {"a.example", "a.example:443"}
    assert list_host_names("https://a.example:443") == {"a.example", "a.example:443"}
    assert list_host_names("http://a.example:8000") == {"a.example:8000"}
