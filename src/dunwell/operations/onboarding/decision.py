"""What a merchant file would change about the merchant as it stands. Pure."""

from collections.abc import Iterator

from msgspec import UNSET

from dunwell.accounts.merchants.credentials.quotas import REQUESTS_PER_MINUTE
from dunwell.accounts.merchants.merchant import NewMerchant
from dunwell.accounts.merchants.rights import Scope, order_scopes
from dunwell.cases.rollout.contact_waits import describe_contact_warnings
from dunwell.core.events.webhooks.endpoint import sort_types
from dunwell.operations.onboarding.changes import (
    AddCredential,
    AddWebhook,
    Change,
    ChangeConfiguration,
    ChangeWebhook,
    CreateMerchant,
    RemoveWebhook,
    ScopeCredential,
)
from dunwell.operations.onboarding.checking import CheckedFile
from dunwell.operations.onboarding.configuration import merge_configuration, render_configuration
from dunwell.operations.onboarding.file import CredentialPart, MerchantFile
from dunwell.operations.onboarding.process_decision import decide_rules, decide_workflow
from dunwell.operations.onboarding.scenario_decision import decide_scenario
from dunwell.operations.onboarding.standing import Standing
from dunwell.operations.onboarding.webhook_rules import to_wanted
from dunwell.platform.text.differences import compare_values


def decide_changes(
    checked: CheckedFile, standing: Standing, *, publish: bool, is_plan: bool = False
) -> list[Change]:
    """The changes in the order they are to be made; none: everything is as the file says."""
    file = checked.file
    changes = [
        *_decide_account(checked, standing),
        *_decide_credentials(file, standing),
        *_decide_webhooks(file, standing),
    ]
    for part in file.scenarios or []:
        description = None if part.description is UNSET else part.description
        wanted, present = checked.definitions[part.name], standing.scenarios.get(part.name)
        changes += decide_scenario(part.name, wanted, description, present, is_plan=is_plan)
    for each in file.workflows or []:
        name, definition = each.name, checked.definitions[each.name]
        changes += decide_workflow(
            name, definition, standing.workflows.get(name), publish=publish, is_plan=is_plan
        )
    if file.assignment_rules is not UNSET:
        currencies = _find_currencies(checked, standing)
        changes += decide_rules(
            file.assignment_rules, standing, currencies, publish=publish, is_plan=is_plan
        )
    return changes


def describe_warnings(checked: CheckedFile) -> list[str]:
    """Return what should be changed about the file's workflows or scenarios, and stops nothing."""
    file = checked.file
    return [
        line
        for kind, parts in (("workflow", file.workflows), ("scenario", file.scenarios))
        for part in parts or []
        for line in describe_contact_warnings(kind, part.name, checked.definitions[part.name])
    ]


def _decide_account(checked: CheckedFile, standing: Standing) -> Iterator[Change]:
    file, logo, merchant = checked.file, checked.logo, standing.merchant
    if merchant is None:
        new = NewMerchant(
            key=file.key,
            name=file.name,
            configuration=merge_configuration(file, logo, None),
            is_sandbox=file.sandbox is True,
            switched_to_workflows=file.switched_to_workflows is not False,
        )
        kind = "sandbox merchant" if new.is_sandbox else "merchant"
        yield CreateMerchant(new, words=[f'{kind} "{file.key}" created'])
        return
    wanted = merge_configuration(file, logo, merchant.configuration)
    before = render_configuration(merchant.name, merchant.configuration)
    after = render_configuration(file.name, wanted)
    words = [line for key in after for line in compare_values(key, before[key], after[key])]
    if words:
        yield ChangeConfiguration(file.name, wanted, words=words)


def _decide_credentials(file: MerchantFile, standing: Standing) -> Iterator[Change]:
    """Those that are there keep secret and limit, revoked ones too; a given scope counts."""
    for part in file.credentials or []:
        scopes, present = _find_scopes(part), standing.credentials.get(part.name)
        if present is None:
            limit = part.requests_per_minute
            yield AddCredential(
                part.name,
                REQUESTS_PER_MINUTE if limit is UNSET else limit,
                scopes or (Scope.ALL,),
                words=[f'credential "{part.name}" created'],
            )
        elif scopes and scopes != present.scopes:
            before, after = ", ".join(present.scopes), ", ".join(scopes)
            words = [f'credential "{part.name}" scope: {before} -> {after}']
            yield ScopeCredential(present.client_id, scopes, words=words)


def _find_scopes(part: CredentialPart) -> tuple[Scope, ...]:
    """None: the file does not say."""
    if part.scope is UNSET:
        return ()
    return order_scopes([part.scope] if isinstance(part.scope, str) else part.scope)


def _decide_webhooks(file: MerchantFile, standing: Standing) -> Iterator[Change]:
    """The list in the file is the whole list."""
    if file.webhooks is UNSET:
        return
    kept = {url: endpoint.authorization for url, endpoint in standing.endpoints.items()}
    wanted = {part.url: to_wanted(part, kept.get(part.url)) for part in file.webhooks}
    for url, endpoint in standing.endpoints.items():
        if url not in wanted:
            yield RemoveWebhook(endpoint.endpoint_id, words=[f"webhook {url} removed"])
    for url, each in wanted.items():
        present, types = standing.endpoints.get(url), sort_types(each.types)
        if present is None:
            yield AddWebhook(each, words=[f"webhook {url} added: {', '.join(types)}"])
            continue
        words = list(compare_values(f"webhook {url} events", list(present.types), list(types)))
        if present.authorization != each.authorization:
            words.append(f"webhook {url} authorization changed")
        if words:
            yield ChangeWebhook(present.endpoint_id, each, words=words)


def _find_currencies(checked: CheckedFile, standing: Standing) -> dict[str, str]:
    """What each workflow takes, by its name: as the file says, else as it stands."""
    before = None if standing.merchant is None else standing.merchant.configuration
    own = merge_configuration(checked.file, checked.logo, before).currency
    current = {name: each.current for name, each in standing.workflows.items()}
    definitions = {name: each.definition for name, each in current.items() if each is not None}
    return {
        name: definition.settings.currency or own
        for name, definition in {**definitions, **checked.definitions}.items()
    }
