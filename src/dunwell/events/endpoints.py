"""The door to webhook endpoints for the folders above: values, use cases, and reading them."""

from dunwell.events.add_endpoint import add_endpoint
from dunwell.events.change_endpoint import change_endpoint
from dunwell.events.endpoint import (
    ALL_TYPES,
    Endpoint,
    NewSecret,
    WantedEndpoint,
    check_endpoint,
    sort_types,
)
from dunwell.events.remove_endpoint import remove_endpoint
from dunwell.events.rotate_secret import rotate_secret
from dunwell.events.sealing import open_authorization
from dunwell.events.store_endpoints import load_endpoints

__all__ = [
    "ALL_TYPES",
    "Endpoint",
    "NewSecret",
    "WantedEndpoint",
    "add_endpoint",
    "change_endpoint",
    "check_endpoint",
    "load_endpoints",
    "open_authorization",
    "remove_endpoint",
    "rotate_secret",
    "sort_types",
]
