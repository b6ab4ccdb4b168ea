"""What becomes of a merchant file's workflows, and whom that reaches, and of its assignment rules.

A first version is always published, and so are the first rules. A changed definition, or changed
rules, the default included, become the draft, and the next version when publishing is asked for.
Rules rule new claims alone: those in process keep theirs. Pure.
"""

from collections.abc import Iterator, Mapping
from uuid import UUID

from dunwell.cases.assignment.matching import RuleTarget
from dunwell.cases.assignment.overlaps import find_overlaps
from dunwell.cases.assignment.rules import (
    NO_RULES,
    RulesDocument,
    find_rule_differences,
    list_names,
    resolve_names,
)
from dunwell.cases.assignment.wording import describe_overlap
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import find_differences
from dunwell.core.workflows.versions.versions import (
    Verdict,
    Version,
    find_next_number,
    find_verdict,
    render_version_name,
)
from dunwell.operations.onboarding.changes import (
    Change,
    DiscardDraft,
    DiscardRules,
    PublishDraft,
    PublishRules,
    SaveDraft,
    SaveRules,
)
from dunwell.operations.onboarding.standing import Standing, StandingWorkflow
from dunwell.platform.text.texts import say_count


def decide_workflow(
    name: str, wanted: Definition, standing: StandingWorkflow | None, *, publish: bool,
    is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """`is_plan` is a matter of words alone: what is not done is not told as done."""
    published = "would be published as" if is_plan else "published as"
    current = standing.current if standing else None
    draft = standing.draft.definition if standing and standing.draft else None
    if standing is None or current is None:
        if draft != wanted:
            yield SaveDraft(name, wanted)
        yield PublishDraft(name, words=[f'workflow "{name}" {published} v1.0'])
    elif current.definition == wanted:
        if draft is not None:
            words = f'workflow "{name}": draft discarded; the file says what {current.name} says'
            yield DiscardDraft(standing.workflow_id, words=[words])
    elif publish:
        if draft != wanted:
            yield SaveDraft(name, wanted)
        yield PublishDraft(
            name,
            words=_describe(
                name, wanted=wanted, standing=standing, current=current, said=published
            ),
        )
    elif draft != wanted:
        saved = "would be saved" if is_plan else "saved"
        said = f"{saved} as draft; --publish makes it"
        yield SaveDraft(
            name,
            wanted,
            words=_describe(name, wanted=wanted, standing=standing, current=current, said=said),
        )


def _describe(
    name: str, wanted: Definition, standing: StandingWorkflow, current: Version, said: str
) -> list[str]:
    verdict = find_verdict(current.definition, wanted)
    number = render_version_name(*find_next_number(current, verdict))
    reach = _describe_reach(standing, current.major, verdict)
    return [
        f'workflow "{name}" {said} {number} ({verdict.lower()}): {reach}',
        *(f'workflow "{name}": {line}' for line in find_differences(current.definition, wanted)),
    ]


def _describe_reach(standing: StandingWorkflow, major: int, verdict: Verdict) -> str:
    """Which claims under way take the new version (spec, Workflow version 4 and 5)."""
    reached = standing.active_claims.get(major, 0) if verdict is Verdict.MINOR else 0
    staying = sum(standing.active_claims.values()) - reached
    return (
        f"{say_count(reached, 'claim')} in process {_takes(reached)} it over, "
        f"{say_count(staying, 'claim')} {_stays(staying)} on the version of before"
    )


def _takes(claims: int) -> str:
    return "takes" if claims == 1 else "take"


def _stays(claims: int) -> str:
    return "stays" if claims == 1 else "stay"


def decide_rules(
    wanted: RulesDocument, standing: Standing, currencies: Mapping[str, str],
    *, publish: bool, is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """`currencies`: of every workflow named, as it will be once the file is applied. `is_plan` is a
    matter of words alone."""
    would = "would be " if is_plan else ""
    published, draft = standing.rules, standing.rules_draft
    if wanted == (published or NO_RULES):
        if draft is not None:
            words = f"assignment rules: draft {would}discarded; the file says what is published"
            yield DiscardRules(words=[words])
        return
    told = [*find_rule_differences(published, wanted), *_describe_overlaps(wanted, currencies)]
    number = standing.rules_version + 1
    if published is None or publish:
        head = (
            [] if published is None else [f"assignment rules {would}published as version {number}"]
        )
        if draft != wanted:
            yield SaveRules(wanted)
        yield PublishRules(words=[*head, *told])
    elif draft != wanted:
        head = [f"assignment rules {would}saved as draft; --publish makes them version {number}"]
        yield SaveRules(wanted, words=[*head, *told])


def _describe_overlaps(wanted: RulesDocument, currencies: Mapping[str, str]) -> Iterator[str]:
    """Some of the workflows are still to be made: any ids will do to tell them apart."""
    names = dict.fromkeys(name for _, name in list_names(wanted))
    ids = {name: UUID(int=number) for number, name in enumerate(names)}
    targets = {each: RuleTarget(currencies.get(name)) for name, each in ids.items()}
    for overlap in find_overlaps(resolve_names(wanted, ids), targets):
        yield describe_overlap(overlap)
