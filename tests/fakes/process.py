"""What all fake providers share: the process, its state, its faults, and sending notifications."""

import argparse
import asyncio
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.support.listening import a_listening_socket

Object = dict[str, Any]
# The longest pause between two attempts to notify, so that a test never waits for long.
_PAUSE_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)
_LATE_SECONDS = 0.3
_PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<h1>{title}</h1><p>{words}</p><form method="post">{buttons}</form></html>"""


class Refused(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The provider answers with an error."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


@dataclass
class Fault:
    """What is wrong with the next answers of the API: DOWN (503), SLOW, GARBAGE (no JSON), WRONG
    (JSON of another shape), OTHER (the answer names another object), LONG (an answer of megabytes),
    LOST (the request is executed, and its answer replaced by 502), RATE_LIMITED (429)."""

    mode: str = ""
    # The number of requests that it affects; None means all.
    times: int | None = None
    seconds: float = 0.0
    # The header Stripe-Should-Retry of failures.
    advice: str | None = None

    def take(self) -> str:
        """Return the fault of the next answer and count it."""
        if not self.mode or self.times == 0:
            return ""
        if self.times is not None:
            self.times -= 1
        return self.mode


@dataclass
class Notifications:
    """How notifications are sent: ONCE, TWICE, LATE, LOST (never), or HELD until they are
    released, then in the opposite order."""

    mode: str = "ONCE"
    url: str | None = None
    held: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    # The response status of each attempt; 0 means no response.
    sent: list[int] = field(default_factory=list)


class FakeProvider(ABC):
    """The state of one provider. `state` holds everything that a restart must not lose, if there is
    a file for it."""

    name: str
    media_type = "application/json"

    def __init__(self, origin: str, secret: str, file: Path | None = None) -> None:
        self.origin = origin
        self.secret = secret
        self.fault = Fault()
        self.notifications = Notifications()
        # Permissions that the key lacks.
        self.missing: set[str] = set()
        # Requests of the API as they came, for tests that check them.
        self.requests: list[Object] = []
        self._file = file
        self._tasks: set[asyncio.Task[None]] = set()
        self.state: Object = {"number": 0}
        if file is not None and file.exists():
            self.state = json.loads(file.read_text())

    @abstractmethod
    def list_routes(self) -> Sequence[Route]:
        """Return the routes of the API, built with `api`."""

    @abstractmethod
    def describe_checkout(self, checkout_id: str) -> tuple[str, Sequence[str]] | None:
        """Return what the page shows and the decisions that are possible, or None if there is no
        such checkout."""

    @abstractmethod
    def act(self, object_id: str, action: str, details: Mapping[str, Any]) -> Object:
        """Let something happen: to a checkout by the debtor (pay, later, fail, cancel), or to it or
        another object by a bank or the provider."""

    @abstractmethod
    def find_return_url(self, checkout_id: str, decision: str) -> str:
        """Return where the debtor goes after a decision."""

    @abstractmethod
    def count_money(self) -> Mapping[str, int]:
        """Return the cents that the merchant holds from each checkout that was ever paid."""

    def table(self, name: str) -> dict[str, Object]:
        rows: dict[str, Object] = self.state.setdefault(name, {})
        return rows

    def new_id(self, prefix: str) -> str:
        self.state["number"] += 1
        return f"{prefix}{self.state['number']:08}{os.urandom(6).hex()}"

    def save(self) -> None:
        if self._file is not None:
            partial = self._file.with_suffix(".part")
            partial.write_text(json.dumps(self.state))
            partial.replace(self._file)

    def notify(self, url: str | None, headers: Mapping[str, str], body: bytes) -> None:
        """Send a notification as the switch says, after this request was answered."""
        settings = self.notifications
        address = settings.url or url
        if address is None or settings.mode == "LOST":
            return
        if settings.mode == "HELD":
            settings.held.append((address, dict(headers), body))
            return
        delay = _LATE_SECONDS if settings.mode == "LATE" else 0.0
        for _ in range(2 if settings.mode == "TWICE" else 1):
            self._start(self._send(address, dict(headers), body, delay))

    def release(self) -> int:
        held, self.notifications.held = self.notifications.held, []
        self._start(self._send_all([*reversed(held)]))
        return len(held)

    def _start(self, sending: Any) -> None:
        task = asyncio.get_running_loop().create_task(sending)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_all(self, held: Sequence[tuple[str, dict[str, str], bytes]]) -> None:
        for url, headers, body in held:
            await self._send(url, headers, body, 0)

    async def _send(self, url: str, headers: dict[str, str], body: bytes, delay: float) -> None:
        """Post a notification until it is answered with a success."""
        await asyncio.sleep(delay)
        async with aiohttp.ClientSession() as session:
            for pause in _PAUSE_SECONDS:
                status = 0
                try:
                    async with session.post(url, data=body, headers=headers) as answer:
                        status = answer.status
                except aiohttp.ClientError:
                    pass
                self.notifications.sent.append(status)
                if 200 <= status < 300:
                    return
                await asyncio.sleep(pause)

    def api(
        self, path: str, method: str, run: Callable[[Request], Awaitable[Object]], status: int = 200
    ) -> Route:
        """Return a route of the API with the faults that are switched on."""

        async def answer(request: Request) -> Response:
            mode = self.fault.take()
            body = await request.body()
            self.requests.append(
                {
                    "method": request.method, "path": request.url.path,
                    "query": request.url.query, "headers": dict(request.headers),
                    "body": body.decode("utf-8", "replace"), "fault": mode,
                }
            )  # fmt: skip
            if mode in ("DOWN", "RATE_LIMITED"):
                advice = {"Stripe-Should-Retry": self.fault.advice} if self.fault.advice else {}
                return JSONResponse({"error": {}}, 503 if mode == "DOWN" else 429, advice)
            if mode == "SLOW":
                await asyncio.sleep(self.fault.seconds)
            response = await self._run(run, request, status)
            if method != "GET":
                self.save()
            return _spoil(mode, response, request.path_params.get("id", ""))

        return Route(path, answer, methods=[method])

    async def _run(
        self, run: Callable[[Request], Awaitable[Object]], request: Request, status: int
    ) -> Response:
        try:
            return JSONResponse(await run(request), status, media_type=self.media_type)
        except Refused as error:
            return JSONResponse(error.body, error.status, media_type=self.media_type)

    def build_app(self) -> Starlette:
        async def page(request: Request) -> Response:
            found = self.describe_checkout(request.path_params["id"])
            if found is None:
                return HTMLResponse("Unknown", 404)
            buttons = "".join(
                f'<button name="decision" value="{each}">{each}</button> ' for each in found[1]
            )
            words = {"title": self.name, "words": found[0], "buttons": buttons}
            return HTMLResponse(_PAGE.format(**words))

        async def decide(request: Request) -> Response:
            form = dict(pair.split("=", 1) for pair in (await request.body()).decode().split("&"))
            checkout_id, decision = request.path_params["id"], form["decision"]
            self.act(checkout_id, decision, {})
            self.save()
            return RedirectResponse(self.find_return_url(checkout_id, decision), 303)

        async def rows(request: Request) -> Response:
            return JSONResponse([*self.table(request.path_params["kind"]).values()])

        return Starlette(
            routes=[
                *self.list_routes(),
                Route("/pay/{id}", page, methods=["GET"]),
                Route("/pay/{id}", decide, methods=["POST"]),
                Route("/_fake/rows/{kind}", rows, methods=["POST"]),
                Route("/_fake/{what}", self._control, methods=["POST"]),
            ]
        )

    async def _control(self, request: Request) -> Response:
        given = json.loads(await request.body() or b"{}")
        answer: Any = {}
        match request.path_params["what"]:
            case "act":
                answer = self.act(given.pop("id"), given.pop("action"), given)
                self.save()
            case "fault":
                self.fault = Fault(**given)
            case "notifications":
                self.notifications = Notifications(**given)
            case "release":
                answer = {"released": self.release()}
            case "sent":
                answer = self.notifications.sent
            case "permissions":
                self.missing = set(given["missing"])
            case "requests":
                answer, self.requests = self.requests, []
            case "money":
                answer = self.count_money()
            case "notification":
                answer = self.build_notification(given["id"])
        return JSONResponse(answer)

    @abstractmethod
    def build_notification(self, object_id: str) -> Object:
        """Return headers and body of a notification about an object, without sending it."""


def _spoil(mode: str, response: Response, object_id: str) -> Response:
    match mode:
        case "GARBAGE":
            return HTMLResponse("<html>Bad gateway</html>", 200)
        case "WRONG":
            return JSONResponse({"id": 7, "status": ["paid"], "amount": "ten"}, 200)
        case "OTHER":
            body = bytes(response.body).replace(object_id.encode(), f"{object_id}7".encode())
            return Response(body, response.status_code, media_type=response.media_type)
        case "LONG":
            return Response(b'{"id": "' + b"x" * 8_000_000, 200, media_type="application/json")
        case "LOST":
            return Response(b"", 502)
        case _:
            return response


def parse_nested(pairs: Sequence[tuple[str, str]]) -> Object:
    """Parse a form with names such as `a[b][0][c]`. Lists become objects with numbers as keys."""
    found: Object = {}
    for name, value in pairs:
        first, *rest = name.replace("]", "").split("[")
        place = found
        for key, following in zip([first, *rest], [*rest, None], strict=True):
            if following is None:
                place[key or str(len(place))] = value
            else:
                place = place.setdefault(key, {})
    return found


def run_fake(build: Callable[[str, str, Path | None], FakeProvider]) -> None:
    """Run a fake provider until it is ended. It prints its address as its first line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--secret", default="fake-webhook-secret")
    parser.add_argument("--state", type=Path)
    options = parser.parse_args()
    with a_listening_socket(options.port) as listening:
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        fake = build(origin, options.secret, options.state)
        sys.stdout.write(f"{origin}\n")
        sys.stdout.flush()
        config = uvicorn.Config(fake.build_app(), log_level="error", access_log=False)
        asyncio.run(uvicorn.Server(config).serve([listening]))
