"""What a merchant file given as text would change at the merchant it is given to, and making it so.

What is planned is what is made: of two who change the merchant, the second sees a new plan. A file
given here never discards a draft: somebody's work that is not in it may be wanted all the same.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.onboarding.changes import Change, DiscardDraft, DiscardRules
from dunwell.operations.onboarding.checking import CheckedFile, Surroundings, check_merchant_file
from dunwell.operations.onboarding.configuration import describe_gaps
from dunwell.operations.onboarding.decision import decide_changes
from dunwell.operations.onboarding.load_standing import load_standing
from dunwell.operations.onboarding.performing import perform_changes
from dunwell.operations.onboarding.reading import Source
from dunwell.operations.onboarding.report import ApplyReport
from dunwell.operations.onboarding.standing import Standing
from dunwell.operations.onboarding.standing_rules import find_standing_faults
from dunwell.operations.onboarding.write_file import write_file
from dunwell.platform.errors import EditConflict, ValidationError
from dunwell.platform.resources import Resources


async def export_file(work: Work, resources: Resources) -> dict[str, object]:
    """The merchant as a merchant file."""
    work.need(Right.CONFIGURE)
    standing = await load_standing(
        work.tx, resources.keys, work.merchant.key, lock=False, counts_claims=False
    )
    return write_file(standing)


async def plan_given(
    work: Work, resources: Resources, source: Source, surroundings: Surroundings,
    *, publish: bool,
) -> ApplyReport:  # fmt: skip
    """What `apply_given` would answer, secrets apart. Raises ValidationError with every fault."""
    work.need(Right.CONFIGURE)
    checked = check_merchant_file(source, surroundings)
    standing = await load_standing(work.tx, resources.keys, work.merchant.key, lock=False)
    changes = _decide(checked, standing, surroundings, publish=publish, is_plan=True)
    return _report(work, checked, standing, changes)


async def apply_given(
    work: Work, resources: Resources, source: Source, surroundings: Surroundings,
    *, publish: bool, known_revision: int,
) -> ApplyReport:  # fmt: skip
    """known_revision: of the merchant as it was planned for. Raises ValidationError, and
    EditConflict when it has changed since."""
    work.need(Right.CONFIGURE)
    checked = check_merchant_file(source, surroundings)
    standing = await load_standing(work.tx, resources.keys, work.merchant.key, lock=True)
    merchant = standing.merchant
    if merchant is None or merchant.revision != known_revision:
        raise EditConflict("The merchant was changed meanwhile. Look anew.")
    changes = _decide(checked, standing, surroundings, publish=publish)
    made = await perform_changes(
        resources, work.tx, merchant, changes=changes, actor=work.actor
    )  # fmt: skip
    report = _report(work, checked, standing, changes)
    return ApplyReport(
        merchant_id=report.merchant_id,
        key=report.key,
        changes=report.changes,
        credentials=made.credentials,
        webhooks=made.webhooks,
        gaps=report.gaps,
    )


def _decide(
    checked: CheckedFile, standing: Standing, surroundings: Surroundings,
    *, publish: bool, is_plan: bool = False,
) -> list[Change]:  # fmt: skip
    faults = list(
        find_standing_faults(checked, standing, is_development=surroundings.is_development)
    )
    if faults:
        raise ValidationError(faults)
    changes = decide_changes(checked, standing, publish=publish, is_plan=is_plan)
    return [each for each in changes if not isinstance(each, DiscardDraft | DiscardRules)]


def _report(
    work: Work, checked: CheckedFile, standing: Standing, changes: list[Change]
) -> ApplyReport:
    words = [line for change in changes for line in change.words]
    gaps = describe_gaps(checked.file, checked.logo, standing.configuration)
    return ApplyReport(work.merchant_id, checked.file.key, words, gaps=gaps)
