"""Which merchants have something due, as part of a statement: while nothing is due anywhere, one
look at an index over all merchants says so, and none of them is looked at. Pure."""

from typing import NamedTuple

from dunwell.platform.database.sql import compose

# A sandbox's standing clock is asked for each sandbox alone. Rides on merchants_sandbox.
_DUE = """(
    SELECT m.merchant_id, $1::timestamptz AS now
    FROM merchants m
    WHERE NOT m.sandbox AND (SELECT {anywhere}) AND ({live})
    UNION ALL
    SELECT m.merchant_id, m.sandbox_now
    FROM merchants m
    WHERE m.sandbox AND ({sandboxes})
)"""
_ANYWHERE = """EXISTS (
    SELECT FROM {table} d
    WHERE {is_due} AND d.merchant_id NOT IN (SELECT merchant_id FROM merchants WHERE sandbox))"""
_AT_MERCHANT = "EXISTS (SELECT FROM {table} d WHERE d.merchant_id = m.merchant_id AND {is_due})"


class DueTable(NamedTuple):
    """Rows `d` of a table that are due at the merchant's {now}, or at the real $1. Two indexes
    serve it: one of all merchants, and one that begins with the merchant."""

    table: str
    is_due: str


def render_due_merchants(*kinds: DueTable) -> str:
    """A table of `merchant_id` and its `now`, of those with one of the kinds; $1: the real time."""

    def any_of(each: str, now: str) -> str:
        return " OR ".join(
            compose(each, table=kind.table, is_due=_fill_now(kind.is_due, now)) for kind in kinds
        )

    return compose(
        _DUE,
        anywhere=any_of(_ANYWHERE, "$1"),
        live=any_of(_AT_MERCHANT, "$1"),
        sandboxes=any_of(_AT_MERCHANT, "m.sandbox_now"),
    )


def _fill_now(is_due: str, now: str) -> str:
    return compose(is_due, now=now) if "{now}" in is_due else is_due
