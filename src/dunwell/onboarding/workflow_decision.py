"""What becomes of one workflow of a merchant file, and whom it reaches.

A first version is always published. A changed definition becomes the draft, and a version when
publishing is asked for. Pure.
"""

from collections.abc import Iterator

from dunwell.kit.texts import say_count
from dunwell.onboarding.changes import Change, DiscardDraft, PublishDraft, SaveDraft
from dunwell.onboarding.standing import StandingWorkflow
from dunwell.workflows.definition import Definition
from dunwell.workflows.differences import find_differences
from dunwell.workflows.versions import (
    Verdict,
    Version,
    find_next_number,
    find_verdict,
    render_version_name,
)


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
