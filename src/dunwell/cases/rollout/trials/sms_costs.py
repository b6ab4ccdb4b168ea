"""What an SMS costs over the names, references and amounts of a merchant's last claims: in how many
parts it goes, and what those cost by country. Reads one statement; nothing is sent. The texts are
written after the transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.preview_message import WantedMessage
from dunwell.cases.rollout.preview.sample_contact import SampleReader, make_sample
from dunwell.cases.rollout.store import NamedClaim, load_named_claims
from dunwell.cases.rollout.trials.writing import TrialWish, TrialWriter, open_trial
from dunwell.contact.messages.templates.facts import MessageItem
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.contact.sending.report import find_country
from dunwell.core.workflows.definition import Definition
from dunwell.platform.children.process import run_apart
from dunwell.platform.resources import Resources

MOST_CLAIMS = 1_000
# Claims whose texts are written without a pause, in which the page can be cancelled.
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class CountryCosts:
    """`cost`: in cents of the merchant's currency; None: the line has no price for it."""

    country: str
    messages: int
    parts: int
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class SmsCosts:
    """`by_parts`: how many of the messages take so many parts. `too_long`: of how many claims the
    text would be refused. `longest`: the claim with the most parts, where one has more than
    others."""

    claims: int
    without_number: int
    too_long: int
    by_parts: Mapping[int, int]
    countries: Sequence[CountryCosts]
    longest: NamedClaim | None

    @property
    def messages(self) -> int:
        return sum(self.by_parts.values())

    @property
    def cost(self) -> Decimal | None:
        """Of all; None: some have no price."""
        costs = [each.cost for each in self.countries]
        known = [each for each in costs if each is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True)
class PreparedSmsCosts:
    writer: TrialWriter
    wish: TrialWish
    sample: SampleReader
    claims: Sequence[NamedClaim]


async def prepare_sms_costs(
    work: Work, resources: Resources, definition: Definition, wanted: WantedMessage
) -> PreparedSmsCosts:
    """Of the template's SMS in the language wanted, or in each claim's own where none is. Raises
    MerchantNotConfigured."""
    work.need(Right.CONFIGURE)
    writer = await open_trial(work, resources, definition)
    today = writer.process.calendar.local_date(work.now)
    sample = make_sample(work.merchant.configuration.currency, today)
    claims = await load_named_claims(work.tx, work.merchant_id, MOST_CLAIMS)
    wish = TrialWish(wanted.template, "SMS", today=today, pay_by=today, language=wanted.language)
    return PreparedSmsCosts(writer, wish, sample, claims)


async def find_sms_costs(prepared: PreparedSmsCosts) -> SmsCosts:
    """Outside any transaction."""
    claims, counts = prepared.claims, _Counts()
    for start in range(0, len(claims), _AT_ONCE):
        await run_apart(_add_up, prepared, counts, claims[start : start + _AT_ONCE])
    longest = counts.longest
    return SmsCosts(
        claims=len(claims),
        without_number=counts.without_number,
        too_long=counts.too_long,
        by_parts=dict(sorted(counts.by_parts.items())),
        countries=_list_countries(counts.by_country),
        longest=longest[max(longest)] if len(longest) > 1 else None,
    )


@dataclass(slots=True)
class _Counts:
    by_parts: Counter[int] = field(default_factory=Counter)
    by_country: dict[str, list[tuple[int, Decimal | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    longest: dict[int, NamedClaim] = field(default_factory=dict)
    without_number: int = 0
    too_long: int = 0


def _add_up(prepared: PreparedSmsCosts, counts: _Counts, claims: Sequence[NamedClaim]) -> None:
    writer = prepared.writer
    for claim in claims:
        if not claim.mobile_number:
            counts.without_number += 1
            continue
        rendered = writer.write(_make_reader(prepared.sample, claim), prepared.wish)
        if isinstance(rendered, Permanent):
            counts.too_long += 1
            continue
        parts = count_parts(rendered.content.body_text).count
        counts.by_parts[parts] += 1
        counts.longest.setdefault(parts, claim)
        country = find_country(claim.mobile_number)
        counts.by_country[country].append((parts, writer.price(rendered)))


def _list_countries(
    by_country: Mapping[str, Sequence[tuple[int, Decimal | None]]],
) -> list[CountryCosts]:
    """Those with the most messages first."""
    found = []
    for country, messages in by_country.items():
        prices = [cost for _, cost in messages if cost is not None]
        cost = sum(prices, Decimal(0)) if len(prices) == len(messages) else None
        parts = sum(parts for parts, _ in messages)
        found.append(CountryCosts(country, len(messages), parts, cost))
    return sorted(found, key=lambda each: (-each.messages, each.country))


def _make_reader(sample: SampleReader, claim: NamedClaim) -> SampleReader:
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
