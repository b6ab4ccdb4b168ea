"""Decide what a merchant file changes about the stored merchant. Pure."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from msgspec import UNSET

from dunwell.accounts.merchants.credentials.credential import REQUESTS_PER_MINUTE
from dunwell.accounts.merchants.merchant import NewMerchant
from dunwell.accounts.merchants.rights import Scope, order_scopes
from dunwell.cases.assignment.matching import RuleTarget
from dunwell.cases.assignment.overlaps import list_overlaps
from dunwell.cases.assignment.rule_results import describe_overlap
from dunwell.cases.assignment.rules import (
    NO_RULES,
    RulesDocument,
    describe_rule_differences,
    list_workflow_names,
    resolve_names,
)
from dunwell.cases.rollout.contact_waits import describe_contact_warnings
from dunwell.cases.rollout.scenarios.scenario_edit import ScenarioEdit, decide_edit
from dunwell.core.events.webhooks.endpoint import sort_types
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import list_differences
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    compute_next_number,
    compute_verdict,
    render_version_name,
)
from dunwell.operations.merchant_file.changes import (
    AddCredential,
    AddWebhook,
    Change,
    ChangeConfiguration,
    ChangeWebhook,
    CreateMerchant,
    DiscardDraft,
    DiscardRules,
    PublishDraft,
    PublishRules,
    RemoveWebhook,
    SaveDraft,
    SaveRules,
    SaveScenario,
    SetCredentialScopes,
)
from dunwell.operations.merchant_file.check_file import CheckedFile
from dunwell.operations.merchant_file.file import CredentialPart, MerchantFile
from dunwell.operations.merchant_file.merchant_state import (
    CurrentScenario,
    CurrentWorkflow,
    MerchantState,
)
from dunwell.operations.merchant_file.rules import build_wanted_endpoint
from dunwell.operations.merchant_file.settings import merge_configuration, render_configuration
from dunwell.platform.text.differences import compare_values
from dunwell.platform.text.texts import render_count


def decide_scenario(
    name: str, wanted: Definition, description: str | None, present: CurrentScenario | None,
    *, is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """Yield the change of the scenario, if there is one. If `description` is None, the stored one
    is kept. With `is_plan`, the change is described as one that would be made."""
    would = "would be " if is_plan else ""
    if present is None:
        lines = [f'scenario "{name}" {would}created']
        yield SaveScenario(name, wanted, description, lines=lines)
        return
    lines = []
    if description is not None and description != present.scenario.description:
        lines.append(f'scenario "{name}": description changed')
    if wanted != present.scenario.definition:
        reach = f"claims in process follow it with their next step: {present.active_claims:,}"
        lines.append(f'scenario "{name}" {would}changed in place; {reach}')
        differences = [
            *list_differences(present.scenario.definition, wanted),
            *decide_scenario_edit(wanted, present).effects,
        ]
        lines += [f'scenario "{name}": {line}' for line in differences]
    if lines:
        yield SaveScenario(name, wanted, description, lines=lines)


def decide_scenario_edit(wanted: Definition, present: CurrentScenario) -> ScenarioEdit:
    """Return how the file's definition would affect the running claims of the scenario."""
    scenario = present.scenario
    return decide_edit(scenario.definition, wanted, scenario.retired, present.places)


def decide_workflow(
    name: str, wanted: Definition, present: CurrentWorkflow | None, *, publish: bool,
    is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """Yield the changes of the workflow. With `is_plan`, they are described as changes that would
    be made."""
    published = "would be published as" if is_plan else "published as"
    current = present.current if present else None
    draft = present.draft.definition if present and present.draft else None
    if present is None or current is None:
        if draft != wanted:
            yield SaveDraft(name, wanted)
        yield PublishDraft(name, lines=[f'workflow "{name}" {published} v1.0'])
    elif current.definition == wanted:
        if draft is not None:
            line = f'workflow "{name}": draft discarded; the file equals {current.name}'
            yield DiscardDraft(present.workflow_id, lines=[line])
    elif publish:
        if draft != wanted:
            yield SaveDraft(name, wanted)
        yield PublishDraft(
            name,
            lines=_describe(
                name, wanted=wanted, present=present, current=current, action=published
            ),
        )
    elif draft != wanted:
        saved = "would be saved" if is_plan else "saved"
        action = f"{saved} as draft; --publish makes it"
        yield SaveDraft(
            name,
            wanted,
            lines=_describe(name, wanted=wanted, present=present, current=current, action=action),
        )


def _describe(
    name: str, wanted: Definition, present: CurrentWorkflow, current: Version, action: str
) -> list[str]:
    verdict = compute_verdict(current.definition, wanted)
    number = render_version_name(*compute_next_number(current, verdict))
    reach = _describe_reach(present, current.major, verdict)
    return [
        f'workflow "{name}" {action} {number} ({verdict.lower()}): {reach}',
        *(f'workflow "{name}": {line}' for line in list_differences(current.definition, wanted)),
    ]


def _describe_reach(present: CurrentWorkflow, major: int, verdict: VersionVerdict) -> str:
    """Describe which running claims take the new version (spec, Workflow version 4 and 5)."""
    reached = present.active_claims.get(major, 0) if verdict is VersionVerdict.MINOR else 0
    staying = sum(present.active_claims.values()) - reached
    return (
        f"{render_count(reached, 'claim')} in process {_get_move_verb(reached)} to it, "
        f"{render_count(staying, 'claim')} {_get_stay_verb(staying)} on their current version"
    )


def _get_move_verb(claims: int) -> str:
    return "moves" if claims == 1 else "move"


def _get_stay_verb(claims: int) -> str:
    return "stays" if claims == 1 else "stay"


def decide_rules(
    wanted: RulesDocument, state: MerchantState, currencies: Mapping[str, str],
    *, publish: bool, is_plan: bool = False,
) -> Iterator[Change]:  # fmt: skip
    """Yield the changes of the assignment rules. `currencies` maps every workflow that the rules
    name to its currency after the file is applied. With `is_plan`, the changes are described as
    ones that would be made."""
    would = "would be " if is_plan else ""
    published, draft = state.rules, state.rules_draft
    if wanted == (published or NO_RULES):
        if draft is not None:
            line = f"assignment rules: draft {would}discarded; the file has the published rules"
            yield DiscardRules(lines=[line])
        return
    differences = [
        *describe_rule_differences(published, wanted),
        *_describe_overlaps(wanted, currencies),
    ]
    number = state.rules_version + 1
    if published is None or publish:
        head = (
            [] if published is None else [f"assignment rules {would}published as version {number}"]
        )
        if draft != wanted:
            yield SaveRules(wanted)
        yield PublishRules(lines=[*head, *differences])
    elif draft != wanted:
        head = [f"assignment rules {would}saved as draft; --publish makes them version {number}"]
        yield SaveRules(wanted, lines=[*head, *differences])


def _describe_overlaps(wanted: RulesDocument, currencies: Mapping[str, str]) -> Iterator[str]:
    """Describe which rules overlap. The workflows get arbitrary ids, because some may not exist
    yet."""
    names = dict.fromkeys(name for _, name in list_workflow_names(wanted))
    ids = {name: UUID(int=number) for number, name in enumerate(names)}
    targets = {each: RuleTarget(currencies.get(name)) for name, each in ids.items()}
    for overlap in list_overlaps(resolve_names(wanted, ids), targets):
        yield describe_overlap(overlap)


def decide_changes(
    checked: CheckedFile, state: MerchantState, *, publish: bool, is_plan: bool = False
) -> list[Change]:
    """Return the changes in the order in which to make them, or [] if the file changes nothing."""
    file = checked.file
    changes = [
        *_decide_account(checked, state),
        *_decide_credentials(file, state),
        *_decide_webhooks(file, state),
    ]
    for part in file.scenarios or []:
        description = None if part.description is UNSET else part.description
        wanted, present = checked.definitions[part.name], state.scenarios.get(part.name)
        changes += decide_scenario(part.name, wanted, description, present, is_plan=is_plan)
    for each in file.workflows or []:
        name, definition = each.name, checked.definitions[each.name]
        changes += decide_workflow(
            name, definition, state.workflows.get(name), publish=publish, is_plan=is_plan
        )
    if file.assignment_rules is not UNSET:
        currencies = _list_currencies(checked, state)
        changes += decide_rules(
            file.assignment_rules, state, currencies, publish=publish, is_plan=is_plan
        )
    return changes


def describe_warnings(checked: CheckedFile) -> list[str]:
    """Describe what should be improved in the workflows and scenarios of the file. These warnings
    do not prevent applying it."""
    file = checked.file
    return [
        line
        for kind, parts in (("workflow", file.workflows), ("scenario", file.scenarios))
        for part in parts or []
        for line in describe_contact_warnings(kind, part.name, checked.definitions[part.name])
    ]


def _decide_account(checked: CheckedFile, state: MerchantState) -> Iterator[Change]:
    file, merchant = checked.file, state.merchant
    if merchant is None:
        new = NewMerchant(
            key=file.key,
            name=file.name,
            configuration=merge_configuration(checked, None),
            is_sandbox=file.sandbox is True,
            switched_to_workflows=file.switched_to_workflows is not False,
        )
        kind = "sandbox merchant" if new.is_sandbox else "merchant"
        yield CreateMerchant(new, lines=[f'{kind} "{file.key}" created'])
        return
    wanted = merge_configuration(checked, merchant.configuration)
    before = render_configuration(merchant.name, merchant.configuration)
    after = render_configuration(file.name, wanted)
    lines = [line for key in after for line in compare_values(key, before[key], after[key])]
    if lines:
        yield ChangeConfiguration(file.name, wanted, lines=lines)


def _decide_credentials(file: MerchantFile, state: MerchantState) -> Iterator[Change]:
    """Decide which credentials to create, and whose scopes to change. An existing credential keeps
    its secret and its limit, even if it is revoked."""
    for part in file.credentials or []:
        scopes, present = _list_scopes(part), state.credentials.get(part.name)
        if present is None:
            limit = part.requests_per_minute
            yield AddCredential(
                part.name,
                REQUESTS_PER_MINUTE if limit is UNSET else limit,
                scopes or (Scope.ALL,),
                lines=[f'credential "{part.name}" created'],
            )
        elif scopes and scopes != present.scopes:
            before, after = ", ".join(present.scopes), ", ".join(scopes)
            lines = [f'credential "{part.name}" scope: {before} -> {after}']
            yield SetCredentialScopes(present.client_id, scopes, lines=lines)


def _list_scopes(part: CredentialPart) -> tuple[Scope, ...]:
    """Return the scopes that the file gives to the credential, or () if it gives none."""
    if part.scope is UNSET:
        return ()
    return order_scopes([part.scope] if isinstance(part.scope, str) else part.scope)


def _decide_webhooks(file: MerchantFile, state: MerchantState) -> Iterator[Change]:
    """Decide how to make the stored webhooks equal to the list of the file."""
    if file.webhooks is UNSET:
        return
    kept = {url: endpoint.authorization for url, endpoint in state.endpoints.items()}
    wanted = {part.url: build_wanted_endpoint(part, kept.get(part.url)) for part in file.webhooks}
    for url, endpoint in state.endpoints.items():
        if url not in wanted:
            yield RemoveWebhook(endpoint.endpoint_id, lines=[f"webhook {url} removed"])
    for url, each in wanted.items():
        present, types = state.endpoints.get(url), sort_types(each.types)
        if present is None:
            yield AddWebhook(each, lines=[f"webhook {url} added: {', '.join(types)}"])
            continue
        lines = list(compare_values(f"webhook {url} events", list(present.types), list(types)))
        if present.authorization != each.authorization:
            lines.append(f"webhook {url} authorization changed")
        if lines:
            yield ChangeWebhook(present.endpoint_id, each, lines=lines)


def _list_currencies(checked: CheckedFile, state: MerchantState) -> dict[str, str]:
    """Return the currency of each workflow after the file is applied, by the workflow's name."""
    before = None if state.merchant is None else state.merchant.configuration
    merchant_currency = merge_configuration(checked, before).currency
    current = {name: each.current for name, each in state.workflows.items()}
    definitions = {name: each.definition for name, each in current.items() if each is not None}
    return {
        name: definition.settings.currency or merchant_currency
        for name, definition in {**definitions, **checked.definitions}.items()
    }
