"""Compute what a changed definition would do to running claims. The claims of a person are forecast
together, so that guards see their contacts in order of time."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel, Configuration
from dunwell.accounts.merchants.configuration import find_country as find_timezone_country
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import (
    ChangedContents,
    ClaimContactChange,
    ContactChangeKind,
    DebtorFees,
    NextContacts,
    PreviewEffects,
    PreviewOutlook,
    PreviewScope,
    compare_contacts,
    has_same_course,
    list_changed_contents,
)
from dunwell.cases.rollout.store import iterate_persons
from dunwell.contact.escalation.due_claim import compute_position
from dunwell.contact.escalation.forecast.forecast import ClaimForecast, Guard, PendingContact
from dunwell.contact.escalation.forecast.person_guard import (
    PersonGuard,
    QuietHoursByChannel,
    build_quiet_hours,
)
from dunwell.contact.escalation.forecast.running_claim import (
    RunningClaim,
    build_debtor_person,
    compute_forecast_start,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow, prepare_workflow
from dunwell.contact.escalation.schedule import StepFacts, WorkflowPosition, list_channels
from dunwell.contact.messages.guards.guards import ContactDays
from dunwell.contact.messages.guards.store import load_contact_days
from dunwell.contact.messages.identities import list_identities
from dunwell.contact.sending.report import UNKNOWN_COUNTRY, compute_number_country
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.crypto import KeyRing


@dataclass(frozen=True, slots=True)
class ClaimToForecast:
    """A claim that is to be forecast: its position in the workflow, and the person whom it
    reaches."""

    reference_number: str
    position: WorkflowPosition | PendingContact
    facts: StepFacts
    identities: tuple[bytes, ...]
    # The destination per channel; empty if nothing is priced.
    countries: Mapping[Channel, str] = field(default_factory=dict)


def build_quiet_guard(configuration: Configuration) -> Guard:
    """Build a guard that delays contacts in quiet hours and does nothing else."""
    by_channel = build_quiet_hours(configuration)

    def allow(at: datetime, channel: Channel) -> datetime:
        return by_channel[channel].first_moment(at)

    return allow


@dataclass(slots=True)
class PersonForecast:
    """Forecasts the claims of each person of a preview under one version."""

    workflow: PreparedWorkflow
    configuration: Configuration
    now: datetime
    until: datetime
    outlook: PreviewOutlook
    _hours: QuietHoursByChannel = field(init=False)

    def __post_init__(self) -> None:
        self._hours = build_quiet_hours(self.configuration)

    def forecast_person(
        self, claims_of_person: Sequence[ClaimToForecast], contacted_on: Mapping[bytes, ContactDays]
    ) -> None:
        """Forecast the claims of one person. `contacted_on` has the days on which the person's
        identities were contacted before."""
        days = {
            identity: list(contacted_on.get(identity, ()))
            for each in claims_of_person
            for identity in each.identities
        }
        forecasts = [self._start_forecast(each, days) for each in claims_of_person]
        zone = self._hours["LETTER"].calendar
        # The index decides the order of claims that act at the same instant.
        waiting = [
            (at, index) for index, each in enumerate(forecasts) if (at := each.next_at) is not None
        ]
        heapq.heapify(waiting)
        fees: list[int] = []
        charged_claims: dict[int, str] = {}
        while waiting and waiting[0][0] <= self.until:
            at, index = waiting[0]
            foreseen = forecasts[index].advance()
            if foreseen:
                day, countries = zone.local_date(at), claims_of_person[index].countries
                added = self.outlook.add_foreseen(foreseen, day, countries)
                if added:
                    fees += added
                    charged_claims[index] = claims_of_person[index].reference_number
            following = forecasts[index].next_at
            if following is None:
                heapq.heappop(waiting)
            else:
                heapq.heapreplace(waiting, (following, index))
        example = min(charged_claims.values(), default="")
        self.outlook.add_debtor(DebtorFees(sum(fees), len(fees), len(charged_claims), example))

    def _start_forecast(
        self, claim: ClaimToForecast, days: dict[bytes, list[date]]
    ) -> ClaimForecast:
        guard = PersonGuard(
            guards=self.configuration.guards,
            quiet=self._hours,
            identities=claim.identities,
            days=days,
            on_hold=self.outlook.add_hold,
        )
        return ClaimForecast(
            workflow=self.workflow,
            position=claim.position,
            facts=claim.facts,
            now=self.now,
            guard=guard,
        )


@dataclass(frozen=True, slots=True)
class MinorVersionChange:
    """A definition that would be the next minor version, and the number of claims that it
    reaches.
    """

    current: Version
    draft: Definition
    claims: int


async def preview_effects(
    work: Work, keys: KeyRing, change: MinorVersionChange, scope: PreviewScope
) -> PreviewEffects:
    """Compute the effects. Call it in `database.snapshot`, so that all claims are read as of one
    instant.

    Raises ValidationError (days out of range).
    """
    work.require(Right.CONFIGURE)
    scope.check()
    current = change.current
    versions = _prepare_comparison(work, current, change.draft, scope)
    workflow_key: tuple[UUID, int] = (current.workflow_id, current.major)
    effects = PreviewEffects()
    if scope.days:
        effects.outlook = versions.forecast.outlook
        effects.outlook_before = versions.get_outlook_before() if scope.costs else None
    async for claims in iterate_persons(work.tx, keys, work.merchant, workflow_key):
        for claim in claims:
            effects.add(versions.compare(claim), scope)
        if scope.days:
            await _forecast_persons(work, keys, versions, claims)
        if scope.progress is not None:
            scope.progress(effects.claims, change.claims)
    return effects


@dataclass(frozen=True, slots=True)
class _VersionsCompared:
    """The present version (`before`) and the draft (`after`), with what is needed to compare what
    they do to a claim."""

    before: PreparedWorkflow
    after: PreparedWorkflow
    has_same_course: bool
    changed: ChangedContents
    # For each index of a step of the draft: the channels that contacts from there on may use.
    channels_from: Sequence[frozenset[Channel]]
    contacts_before: NextContacts
    contacts_after: NextContacts
    forecast: PersonForecast
    # The forecast of the present version. None if both versions have the same course or costs were
    # not requested.
    forecast_before: PersonForecast | None
    # The day in the workflow's time zone.
    today: date
    # The destination of letters without a country. None if costs were not requested.
    home_country: str | None

    def get_outlook_before(self) -> PreviewOutlook:
        """Return the outlook of the present version. A draft with the same course has the same."""
        return (self.forecast_before or self.forecast).outlook

    def compare(self, claim: RunningClaim) -> ClaimContactChange:
        facts, now = claim.facts, self.forecast.now
        if claim.is_held_without_end or claim.has_unknown_outcome:
            kind = (
                ContactChangeKind.HELD if claim.is_held_without_end else ContactChangeKind.UNSETTLED
            )
            return ClaimContactChange(facts.claim_id, facts.reference_number, kind)
        step_facts = facts.step_facts(self.today)
        after = self.contacts_after.find(compute_forecast_start(self.after, claim, now), step_facts)
        before = after
        if not self.has_same_course:
            before = self.contacts_before.find(
                compute_forecast_start(self.before, claim, now), step_facts
            )
        kind, aspects = compare_contacts(before, after, self.changed)
        return ClaimContactChange(
            facts.claim_id, facts.reference_number, kind,
            before=before, after=after, aspects=aspects,
        )  # fmt: skip


def _prepare_comparison(
    work: Work, current: Version, draft: Definition, scope: PreviewScope
) -> _VersionsCompared:
    configuration = work.merchant.configuration
    before, after = (prepare_workflow(each, configuration) for each in (current.definition, draft))
    until = work.now + timedelta(days=scope.days)
    quiet = build_quiet_guard(configuration)
    is_same_course = has_same_course(current.definition, draft)

    def build_forecast(workflow: PreparedWorkflow) -> PersonForecast:
        return PersonForecast(
            workflow=workflow,
            configuration=configuration,
            now=work.now,
            until=until,
            outlook=PreviewOutlook(work.now, until),
        )

    return _VersionsCompared(
        before=before,
        after=after,
        has_same_course=is_same_course,
        changed=list_changed_contents(current.definition, draft),
        channels_from=list(_list_channels_from(after)),
        contacts_before=NextContacts(before, work.now, quiet),
        contacts_after=NextContacts(after, work.now, quiet),
        forecast=build_forecast(after),
        forecast_before=build_forecast(before) if scope.costs and not is_same_course else None,
        today=after.calendar.local_date(work.now),
        home_country=(find_timezone_country(configuration) or UNKNOWN_COUNTRY)
        if scope.costs
        else None,
    )


def _list_channels_from(workflow: PreparedWorkflow) -> Iterator[frozenset[Channel]]:
    """Yield the channels for each index of a step, including the one after the last step."""
    for index in range(len(workflow.steps) + 1):
        contacts = [s for s in workflow.steps[index:] if isinstance(s, ContactStep)]
        yield frozenset(channel for step in contacts for channel in list_channels(step))


async def _forecast_persons(
    work: Work, keys: KeyRing, versions: _VersionsCompared, claims: Sequence[RunningClaim]
) -> None:
    """Forecast the claims of whole persons, after loading when they were contacted last."""
    claims_by_person = [
        [each for each in of_person if not (each.is_held_without_end or each.has_unknown_outcome)]
        for _, of_person in groupby(claims, attrgetter("person"))
    ]
    forecasts_by_person = [
        [_build_forecast_claim(work, keys, versions, each) for each in running]
        for running in claims_by_person
    ]
    identities = {
        identity
        for of_person in forecasts_by_person
        for claim in of_person
        for identity in claim.identities
    }
    contacted_on = await load_contact_days(work.tx, work.merchant_id, list(identities))
    for running, claims_of_person in zip(claims_by_person, forecasts_by_person, strict=True):
        if not claims_of_person:
            continue
        versions.forecast.forecast_person(claims_of_person, contacted_on)
        if versions.forecast_before is not None:
            before = [
                replace(each, position=compute_forecast_start(versions.before, claim, work.now))
                for claim, each in zip(running, claims_of_person, strict=True)
            ]
            versions.forecast_before.forecast_person(before, contacted_on)


def _build_forecast_claim(
    work: Work, keys: KeyRing, versions: _VersionsCompared, claim: RunningClaim
) -> ClaimToForecast:
    """Build the claim to forecast under the draft, and count it in the draft's outlook."""
    facts, home_country = claim.facts, versions.home_country
    position = compute_position(versions.after, facts)
    possible = versions.channels_from[versions.after.index_of(position.next_step_id)]
    versions.forecast.outlook.add_claim(
        facts.reference_number,
        is_reachable=not possible or bool(possible & facts.usable_channels),
    )
    return ClaimToForecast(
        facts.reference_number,
        compute_forecast_start(versions.after, claim, work.now),
        facts=facts.step_facts(versions.today),
        identities=list_identities(keys, work.merchant_id, build_debtor_person(facts)),
        countries={} if home_country is None else _list_countries(claim, home_country),
    )


def _list_countries(claim: RunningClaim, home_country: str) -> dict[Channel, str]:
    """Return the destinations of an SMS and a letter to the debtor."""
    facts = claim.facts
    return {
        "SMS": compute_number_country(facts.mobile_number or ""),
        "LETTER": facts.address.get("country") or home_country,
    }
