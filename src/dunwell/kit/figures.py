"""The registry of figures kept outside the API; /metrics shows it beside the API's own."""

from prometheus_client import CollectorRegistry

REGISTRY = CollectorRegistry()
