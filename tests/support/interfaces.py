"""All addresses that a web process serves on its interfaces, with sample values for their
parameters."""

import re
from collections.abc import Iterable, Iterator, Mapping

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from dunwell.interfaces.landing.application import ROUTES
from tests.support.one_claim import ONE

_NAME = re.compile(r"\{\w+(?::(\w+))?\}")
_VALUES = {"uuid": "01900000-0000-7000-8000-000000000001"}


def list_addresses(app: Starlette) -> Mapping[str, frozenset[str]]:
    """Return the addresses, each with the methods that it accepts."""
    return {fill(path): methods for path, methods in _walk(app.routes, "")}


def fill(path: str) -> str:
    return _NAME.sub(lambda name: ONE if name[0] == "{handle}" else _VALUES.get(name[1], "1"), path)


def _walk(routes: Iterable[BaseRoute], prefix: str) -> Iterator[tuple[str, frozenset[str]]]:
    for route in routes:
        if isinstance(route, Mount):
            yield from _walk(route.routes, prefix + route.path)
        elif isinstance(route, Route):
            yield prefix + route.path, frozenset(route.methods or ())
        else:  # The debtor pages route the addresses below their roots themselves.
            yield from ((path, frozenset(runs)) for path, runs in ROUTES.items())
