"""Compute the costs of an SMS for the names, references and amounts of a merchant's recent claims:
the number of parts, and the costs by country.

One statement reads the claims; nothing is sent. The texts are rendered after the transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import WantedMessage
from dunwell.cases.rollout.preview.sample_contact import SampleRecipient, build_sample
from dunwell.cases.rollout.store import RecentClaim, list_recent_claims
from dunwell.cases.rollout.trials.trial_messages import (
    TrialMessage,
    TrialWriter,
    prepare_trial_writer,
)
from dunwell.contact.messages.templates.facts import MessageItem
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.contact.sending.report import compute_number_country
from dunwell.core.workflows.definition import Definition
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.resources import Resources

MAX_CLAIMS = 1_000
# How many texts are rendered in one call of the thread, which cannot be cancelled.
_CLAIMS_PER_BATCH = 50


@dataclass(frozen=True, slots=True)
class CountryCosts:
    """The costs for one country. `cost` is in cents of the merchant's currency, or None if the
    delivery provider has no price for the country."""

    country: str
    messages: int
    parts: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class SmsCosts:
    """The result. `by_parts` maps a number of parts to a number of messages. `too_long` counts
    claims whose text would be refused. `longest` is the claim with the most parts, or None if all
    have the same number."""

    claims: int
    without_number: int
    too_long: int
    by_parts: Mapping[int, int]
    countries: Sequence[CountryCosts]
    longest: RecentClaim | None

    @property
    def messages(self) -> int:
        return sum(self.by_parts.values())

    @property
    def cost(self) -> Decimal | None:
        """The total cost, or None if some messages have no price."""
        costs = [each.cost for each in self.countries]
        known = [each for each in costs if each is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True)
class PreparedSmsCosts:
    writer: TrialWriter
    message: TrialMessage
    sample: SampleRecipient
    claims: Sequence[RecentClaim]


async def prepare_sms_costs(
    work: Work, resources: Resources, definition: Definition, wanted: WantedMessage
) -> PreparedSmsCosts:
    """Load recent claims for the template's SMS. Without a wanted language, each message is in the
    claim's own language.

    Raises MerchantNotConfigured.
    """
    work.require(Right.CONFIGURE)
    writer = await prepare_trial_writer(work, resources, definition)
    today = writer.workflow.calendar.local_date(work.now)
    sample = build_sample(work.merchant.configuration.currency, today)
    claims = await list_recent_claims(work.tx, work.merchant_id, MAX_CLAIMS)
    message = TrialMessage(
        wanted.template, "SMS", today=today, pay_by=today, language=wanted.language
    )
    return PreparedSmsCosts(writer, message, sample, claims)


async def compute_sms_costs(prepared: PreparedSmsCosts) -> SmsCosts:
    """Compute the costs, outside any transaction."""
    claims, counts = prepared.claims, _SmsCounts()
    for start in range(0, len(claims), _CLAIMS_PER_BATCH):
        await run_in_thread(
            _count_messages, prepared, counts, claims[start : start + _CLAIMS_PER_BATCH]
        )
    first_claims = counts.first_claims
    return SmsCosts(
        claims=len(claims),
        without_number=counts.without_number,
        too_long=counts.too_long,
        by_parts=dict(sorted(counts.by_parts.items())),
        countries=_list_countries(counts.by_country),
        longest=first_claims[max(first_claims)] if len(first_claims) > 1 else None,
    )


@dataclass(slots=True)
class _SmsCounts:
    by_parts: Counter[int] = field(default_factory=Counter)
    by_country: dict[str, list[tuple[int, Decimal | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    # Number of parts -> the first claim whose message has that number.
    first_claims: dict[int, RecentClaim] = field(default_factory=dict)
    without_number: int = 0
    too_long: int = 0


def _count_messages(
    prepared: PreparedSmsCosts, counts: _SmsCounts, claims: Sequence[RecentClaim]
) -> None:
    writer = prepared.writer
    for claim in claims:
        if not claim.mobile_number:
            counts.without_number += 1
            continue
        rendered = writer.write(_build_recipient(prepared.sample, claim), prepared.message)
        if isinstance(rendered, Permanent):
            counts.too_long += 1
            continue
        parts = count_parts(rendered.content.body_text).count
        counts.by_parts[parts] += 1
        counts.first_claims.setdefault(parts, claim)
        country = compute_number_country(claim.mobile_number)
        counts.by_country[country].append((parts, writer.price(rendered)))


def _list_countries(
    by_country: Mapping[str, Sequence[tuple[int, Decimal | None]]],
) -> list[CountryCosts]:
    """Return the costs by country, those with the most messages first."""
    costs = []
    for country, messages in by_country.items():
        prices = [cost for _, cost in messages if cost is not None]
        cost = sum(prices, Decimal(0)) if len(prices) == len(messages) else None
        parts = sum(parts for parts, _ in messages)
        costs.append(CountryCosts(country, len(messages), parts, cost))
    return sorted(costs, key=lambda each: (-each.messages, each.country))


def _build_recipient(sample: SampleRecipient, claim: RecentClaim) -> SampleRecipient:
    facts = replace(
        sample.claim,
        claim_id=claim.claim_id,
        reference_number=claim.reference_number,
        currency=claim.currency,
        items=(MessageItem("PRIMARY", claim.total_cents),),
        total_cents=claim.total_cents,
        outstanding_cents=claim.total_cents,
        fees_cents=0,
        customer_number=claim.customer_number,
        contract_number=claim.contract_number,
    )
    return replace(
        sample,
        claim=facts, debtor=claim.debtor, mobile_number=claim.mobile_number,
        language=claim.language,
    )  # fmt: skip
