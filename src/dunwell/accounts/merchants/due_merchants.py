"""SQL that lists the merchants with due rows. While nothing is due, it reads one index of each
table and the sandboxes, whatever the number of other merchants. Pure."""

from typing import NamedTuple

from dunwell.platform.database.sql import compose

# Each sandbox has its own clock and is therefore checked separately. Uses merchants_sandbox.
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
    """A table whose rows `d` become due at the merchant's time {now}, or at the real time $1. It
    needs two indexes: one over all merchants, and one that begins with the merchant."""

    table: str
    is_due: str


def render_due_merchants(*tables: DueTable) -> str:
    """Return the SQL of a subquery with the columns `merchant_id` and `now`: the merchants that
    have due rows in one of the tables. $1 is real time."""

    def any_of(condition: str, now: str) -> str:
        return " OR ".join(
            compose(condition, table=due.table, is_due=_fill_now(due.is_due, now)) for due in tables
        )

    return compose(
        _DUE,
        anywhere=any_of(_ANYWHERE, "$1"),
        live=any_of(_AT_MERCHANT, "$1"),
        sandboxes=any_of(_AT_MERCHANT, "m.sandbox_now"),
    )


def _fill_now(is_due: str, now: str) -> str:
    return compose(is_due, now=now) if "{now}" in is_due else is_due
