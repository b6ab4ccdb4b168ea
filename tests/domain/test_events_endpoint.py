from typing import Literal

import pytest

from dunwell.accounts.installation.installation_file import (
    PUBLIC_REACH,
    WebhookNetworks,
    WebhookReach,
    find_reach,
)
from dunwell.core.events.webhooks.endpoint import NewEndpoint, check_endpoint, sort_types
from dunwell.platform.errors import ValidationError


def faults_of(
    wanted: NewEndpoint, reach: WebhookReach = PUBLIC_REACH, *, is_development: bool = False
) -> list[str]:
    try:
        check_endpoint(wanted, reach, is_development=is_development)
    except ValidationError as refused:
        return [fault.path for fault in refused.faults]
    return []


def test_a_valid_endpoint_has_no_faults() -> None:
    wanted = NewEndpoint("https://shop.example/hooks?v=1", ("ESCALATED",), "Bearer abc")
    assert faults_of(wanted) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/hooks", "ftp://shop.example/", "//shop.example/", "shop.example",
        "https://", "https://user:word@shop.example/", "https://user@shop.example/",
        "https://shop.example/#part", "https://shop.example:99999/", "https://[::1", "",
        "https://shop.example/a b", "https://shop.example/\n", "https://127.0.0.1/",
        "https://10.1.2.3/", "https://[::1]/", "https://[::ffff:10.0.0.1]/",
        "https://shop.example/" + "a" * 2000,
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_delivered_to_is_refused(url: str) -> None:
    assert set(faults_of(NewEndpoint(url, ("*",)))) == {"/url"}


def test_the_development_profile_accepts_loopback_without_tls() -> None:
    wanted = NewEndpoint("http://127.0.0.1:9000/hooks", ("*",))
    assert faults_of(wanted, is_development=True) == []
    assert faults_of(wanted) == ["/url", "/url"]


@pytest.mark.parametrize(
    ("types", "paths"),
    [
        ((), ["/events"]),
        (("*", "ESCALATED"), ["/events"]),
        (("*", "PAYMENT_REFUNDED", "MANDATE_CHANGED"), []),
        (("PAYMENT_REVERSED", "ARCHIVED"), []),
        (("*", "PAYMENT_REFUNDED", "ESCALATED"), ["/events"]),
        (("ESCALATED", "escalated"), ["/events/1"]),
        (("PAID",), ["/events/0"]),
    ],
)
def test_only_known_event_types_or_all_can_be_subscribed_to(
    types: tuple[str, ...], paths: list[str]
) -> None:
    assert faults_of(NewEndpoint("https://shop.example/", types)) == paths


@pytest.mark.parametrize("value", ["", "  ", "Bearer a\r\nX-Other: b", "Bearer ä", "a" * 1001])
def test_an_authorization_that_is_no_header_value_is_refused(value: str) -> None:
    wanted = NewEndpoint("https://shop.example/", ("*",), value)
    assert faults_of(wanted) == ["/authorization"]


def test_every_fault_is_reported_at_once() -> None:
    wanted = NewEndpoint("http://shop.example/", ("PAID",), "\n")
    assert faults_of(wanted) == ["/url", "/events/0", "/authorization"]


def test_event_types_are_stored_once_each_in_the_documented_order() -> None:
    assert sort_types(["ARCHIVED", "ESCALATED", "ARCHIVED"]) == ("ESCALATED", "ARCHIVED")
    assert sort_types(["PAYMENT_REFUNDED", "*"]) == ("*", "PAYMENT_REFUNDED")


@pytest.mark.parametrize(
    ("url", "tls", "is_locked"),
    [
        ("https://10.20.1.2/hooks", "REQUIRED", True),
        ("https://erp.internal/hooks", "REQUIRED", True),
        ("http://10.20.1.2/hooks", "REQUIRED", False),
        ("http://10.20.1.2/hooks", "OPTIONAL", True),
        ("http://erp.internal/hooks", "OPTIONAL", True),
        ("ftp://10.20.1.2/hooks", "OPTIONAL", False),
        # Internal and in no named network, and public, which is no longer reached.
        ("https://10.21.1.2/hooks", "OPTIONAL", False),
        ("https://127.0.0.1/hooks", "OPTIONAL", False),
        ("https://203.0.114.7/hooks", "OPTIONAL", False),
    ],
)
def test_a_merchant_reaches_only_its_named_internal_networks(
    url: str, tls: Literal["REQUIRED", "OPTIONAL"], is_locked: bool
) -> None:
    entries = [WebhookNetworks(merchant="nordwind", networks=("10.20.0.0/16",), tls=tls)]
    wanted = NewEndpoint(url, ("*",))
    faults = faults_of(wanted, find_reach(entries, "nordwind"))
    assert faults == ([] if is_locked else ["/url"])
    assert find_reach(entries, "hansen") == PUBLIC_REACH
