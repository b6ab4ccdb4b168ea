"""The first pages of the portal's lists, by their filters, searches by each kind of word, and the
settings pages. Pure."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from bench.portal_page import (
    Known,
    Page,
    TextByAttempt,
    build_fixed_address,
    list_installation_pages,
    list_merchant_pages,
)
from bench.portal_settings_pages import list_settings_pages
from dunwell.interfaces.portal.render.addresses import build_address

_PRIME = 7919


def list_pages(known: Known) -> Sequence[Page]:
    return [
        *_list_claims(known), *_list_searches(known), *_list_others(known),
        *_list_object_pages(known), *list_settings_pages(known),
    ]  # fmt: skip


def _list_claims(known: Known) -> list[Page]:
    tomorrow = (known.today + timedelta(days=1)).isoformat()
    month = (known.today + timedelta(days=31)).isoformat()
    workflow = str(known.workflow_id)
    filters: Mapping[str, Mapping[str, str]] = {
        "": {},
        **{
            f"status {status}": {"status": status}
            for status in ("CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN")
        },
        **{
            f"hold {hold}": {"hold": hold}
            for hold in (
                "DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING",
            )
        },
        "workflow": {"workflow": workflow},
        "a workflow that nobody has": {"workflow": "00000000-0000-4000-8000-000000000000"},
        "open from 5": {"least": "5"},
        "open from 899": {"least": "899"},
        "open from 5,000, which none is": {"least": "5000"},
        "open until 20": {"most": "20"},
        "next step tomorrow": {"due_from": tomorrow, "due_to": tomorrow},
        "next step within a month": {"due_from": tomorrow, "due_to": month},
        "next step long ago": {"due_to": "2001-01-01"},
        **{
            f"by {'the greatest ' if way else ''}{key}": {"sort": f"{way}{key}"}
            for key in ("reference", "next", "changed", "created")
            for way in ("", "-")
        },
        "of a status, by next step": {"status": "IN_PROCESS", "sort": "next"},
        "of a rare status, by change": {"status": "WITHDRAWN", "sort": "-changed"},
        "status, workflow, open": {"status": "COLLECTED", "workflow": workflow, "least": "5"},
        "status, hold, next step": {
            "status": "IN_PROCESS", "hold": "PAUSE", "due_from": tomorrow, "due_to": month,
        },
    }  # fmt: skip
    return [
        Page(f"claims: {name}" if name else "claims", build_fixed_address(known, "claims", given))
        for name, given in filters.items()
    ]


def _list_searches(known: Known) -> list[Page]:
    """Return searches by whole words and by beginnings that many, few and no claims have."""

    def number(turn: int) -> int:
        """Return the number of one of the merchant's claims, which has sixteen in twenty."""
        drawn = turn * _PRIME * 20 % known.rows
        return drawn + turn % 16

    texts: Mapping[str, TextByAttempt] = {
        "a reference": lambda turn: f"RE-2026-{number(turn):08d}",
        "a reference's beginning, few": lambda turn: f"RE-2026-{number(turn):08d}"[:-2],
        "a reference's beginning, many": lambda _: "RE-2026-0",
        "an id": lambda turn: str(known.first_id + number(turn)),
        "an id's beginning, many": lambda turn: str(turn % 9 + 1),
        "a customer number": lambda turn: f"K-{number(turn) // 3:07d}",
        "a customer number's beginning, many": lambda _: "K-00",
        "a contract number": lambda turn: f"V{number(turn) // 2 * 2}",
        "a first name, a tenth": lambda turn: ("anna", "max", "erika", "paul")[turn % 4],
        "a last name, 2 in 100": lambda _: "Schmidt",
        "a last name, few": lambda turn: f"hofberg{turn % 53}",
        "a last name's beginning": lambda turn: ("ho", "be", "ste")[turn % 3],
        "first and last name, many each": lambda turn: f"{('Anna', 'Jonas')[turn % 2]} Schmidt",
        "two names that nobody has both": lambda _: "anna paul",
        "many words that nobody has all": lambda _: "schmidt anna max erika paul",
        "a company's words": lambda turn: f"Handel {turn % 417 * 12} GmbH",
        "an e-mail address": lambda turn: f"debtor.{number(turn)}@example{number(turn) % 40}.org",
        "an e-mail address's beginning, many": lambda turn: f"debtor.{turn % 9 + 1}",
        "a phone number": lambda turn: f"+49 151 {number(turn):08d}",
        "a phone number as dialled": lambda turn: f"0151 {number(turn):08d}",
        "a phone number's beginning, many": lambda _: "0151 00",
        "a letter": lambda turn: "abdehk"[turn % 6],
        "a word of none": lambda turn: f"zzz{turn}",
        "a word of many and one of none": lambda _: "schmidt zzz",
        "a word and a status": lambda _: "schmidt",
    }

    return [_search(known, name, find) for name, find in texts.items()]


def _search(known: Known, name: str, find: TextByAttempt) -> Page:
    more = {"status": "WITHDRAWN"} if name.endswith("a status") else {}
    return Page(
        f"search: {name}",
        lambda turn: build_address("claims", merchant_id=known.merchant_id, q=find(turn), **more),
    )


def _list_others(known: Known) -> list[Page]:
    yesterday = (known.today - timedelta(days=1)).isoformat()
    asked: Mapping[str, tuple[str, Mapping[str, str]]] = {
        "start": ("start", {}),
        "disputes": ("disputes", {}),
        **{
            f"disputes: {state}": ("disputes", {"state": state})
            for state in ("ACCEPTED", "REJECTED", "WITHDRAWN")
        },
        "plans": ("plans", {}),
        "plans: running": ("plans", {"show": "running"}),
        "plans: all": ("plans", {"show": "all"}),
        "payments": ("payments", {}),
        "payments of yesterday": ("payments", {"on": yesterday}),
        "payments of a day long ago": ("payments", {"on": "2001-01-01"}),
        "movements that need review": ("payments_review", {}),
        "payment requests": ("payments", {"show": "requests"}),
        "messages": ("messages", {}),
        **{
            f"messages: {state}": ("messages", {"state": state})
            for state in (
                "PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "ACCEPTED", "FAILED", "CANCELLED",
                "UNKNOWN",
            )
        },
        "messages: letters": ("messages", {"channel": "LETTER"}),
        "messages: failed letters": ("messages", {"channel": "LETTER", "state": "FAILED"}),
        "suppressions": ("suppressions", {}),
        "webhooks": ("endpoints", {}),
        "jobs": ("jobs", {}),
        "what was done": ("audit", {}),
        "replies": ("replies", {}),
        "answer texts": ("answer_texts", {}),
    }  # fmt: skip
    everywhere: Mapping[str, tuple[str, Mapping[str, object]]] = {
        "merchants": ("merchants", {}),
        "people": ("people", {}),
        "people: what was done": ("people_audit", {}),
        "people: what was done to one": ("people_audit", {"of": known.user_id}),
        "a user": ("people_user", {"user_id": known.user_id}),
        "people: to invite": ("people_invite", {}),
        "my account": ("account", {}),
        "a new merchant": ("merchant_new", {}),
    }
    return list_merchant_pages(known, asked) + list_installation_pages(everywhere)


def _list_object_pages(known: Known) -> list[Page]:
    """Return the pages of one claim, one dispute, one job and of bank statements, to which the
    lists lead."""
    disputed = {"claim_id": known.disputed_id, "dispute_id": known.dispute_id}
    one: Mapping[str, tuple[str, Mapping[str, object]]] = {
        "a disputed claim": ("claim", {"claim_id": known.disputed_id}),
        "a claim: why": ("claim_why", {"claim_id": known.disputed_id}),
        "a claim: account": ("claim_account", {"claim_id": known.disputed_id}),
        "a message": (
            "claim_message",
            {"claim_id": known.message_claim_id, "message_id": known.message_id},
        ),
        "bank statements": ("bank", {}),
        "payouts": ("payouts", {}),
        "payouts: not arrived": ("payouts", {"show": "awaited"}),
        "a payout": ("payout", {"record_id": known.payout_id}),
        "a bank account": ("bank_account", {"account": "main"}),
        "open entries": ("bank_entries", {"account": "main"}),
        "an imported file": ("bank_file", {"file_id": known.bank_file_id}),
        "a bank statement": (
            "bank_statement",
            {"account": "main", "statement": known.statement_hash.hex()},
        ),
        "a dispute": ("dispute", disputed),
        "a plan": ("plan", {"claim_id": known.plan_claim_id, "plan_id": known.plan_id}),
        "a job": ("job", {"job_id": known.job_id}),
    }
    return list_merchant_pages(known, one)
