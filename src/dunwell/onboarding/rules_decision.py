"""What becomes of the assignment rules of a merchant file.

The first rules are always published. Changed ones, the default included, become the draft, and the
next version when publishing is asked for. They rule new claims alone: those in process keep theirs.
Pure.
"""

from collections.abc import Iterator, Mapping
from uuid import UUID

from dunwell.assignment.differences import NO_RULES, find_rule_differences
from dunwell.assignment.document import RulesDocument, list_names, resolve_names
from dunwell.assignment.matching import RuleTarget
from dunwell.assignment.overlaps import find_overlaps
from dunwell.assignment.wording import describe_overlap
from dunwell.onboarding.changes import Change, DiscardRules, PublishRules, SaveRules
from dunwell.onboarding.standing import Standing


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
