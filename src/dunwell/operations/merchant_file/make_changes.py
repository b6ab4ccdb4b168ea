"""Make the changes of a merchant file by calling the use case for each."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor, build_operator_actor
from dunwell.accounts.merchants.credentials.credentials import allow_credential, create_credential
from dunwell.accounts.merchants.credentials.tokens import CREDENTIAL_RANDOM_BYTES
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.set_up_merchant import change_configuration, create_merchant
from dunwell.cases.assignment.rules_draft import (
    discard_rules_draft,
    publish_rules_draft,
    save_rules_draft,
)
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.core.events.webhooks.endpoints import add_endpoint, change_endpoint, remove_endpoint
from dunwell.core.workflows.drafts.draft_changes import ReviewedChanges
from dunwell.core.workflows.drafts.edit_draft import discard_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.drafts.store import load_open_changes
from dunwell.core.workflows.store import load_workflows
from dunwell.operations.merchant_file.changes import (
    AddCredential,
    AddWebhook,
    Change,
    ChangeConfiguration,
    ChangeWebhook,
    CreateMerchant,
    DiscardDraft,
    DiscardRules,
    NewCredentialReport,
    NewWebhookReport,
    PublishDraft,
    PublishRules,
    RemoveWebhook,
    SaveDraft,
    SaveRules,
    SaveScenario,
    SetCredentialScopes,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

APPLY = build_operator_actor("apply")


@dataclass(frozen=True, slots=True)
class MadeChanges:
    """The result of making changes: the merchant's id, and the secrets that were created."""

    merchant_id: int
    credentials: list[NewCredentialReport] = field(default_factory=list)
    webhooks: list[NewWebhookReport] = field(default_factory=list)


async def make_changes(
    resources: Resources, tx: Connection, merchant: Merchant | None,
    *, changes: Sequence[Change], actor: Actor = APPLY,
) -> MadeChanges:  # fmt: skip
    """Make the changes. If `merchant` is None, the first change creates it."""
    check_right(actor, Right.CONFIGURE)
    work = await _open_work(resources, tx, merchant, changes=changes, actor=actor)
    made = MadeChanges(work.merchant_id)
    for change in changes:
        match change:
            case (
                AddCredential()
                | SetCredentialScopes()
                | AddWebhook()
                | ChangeWebhook()
                | RemoveWebhook()
            ):
                await _change_access(resources, work, change, made)
            case SaveDraft() | PublishDraft() | DiscardDraft():
                await _change_workflow(work, change)
            case SaveScenario():
                await save_scenario(work, change.name, change.definition, change.description)
            case SaveRules() | PublishRules() | DiscardRules():
                await _change_rules(work, change)
            case ChangeConfiguration():
                await change_configuration(work, change.name, change.configuration)
                # Later changes are checked against the new settings.
                configuration = change.configuration
                changed = msgspec.structs.replace(work.merchant, configuration=configuration)
                work = replace(work, merchant=changed)
            case CreateMerchant():
                assert merchant is None
    return made


async def _open_work(
    resources: Resources, tx: Connection, merchant: Merchant | None,
    *, changes: Sequence[Change], actor: Actor,
) -> Work:  # fmt: skip
    if merchant is not None:
        return Work.open(resources, tx, merchant, actor)
    creation = changes[0]
    assert isinstance(creation, CreateMerchant)
    return await create_merchant(
        tx, actor, new=creation.new, now=resources.clock.now(), ids=resources.ids
    )


async def _change_access(
    resources: Resources,
    work: Work,
    change: AddCredential | SetCredentialScopes | AddWebhook | ChangeWebhook | RemoveWebhook,
    made: MadeChanges,
) -> None:
    match change:
        case AddCredential():
            credential = await create_credential(
                work, change.name,
                randomness=secrets.token_bytes(CREDENTIAL_RANDOM_BYTES),
                requests_per_minute=change.requests_per_minute,
                scopes=change.scopes,
            )  # fmt: skip
            made.credentials.append(
                NewCredentialReport(change.name, credential.client_id, credential.client_secret)
            )
        case SetCredentialScopes():
            await allow_credential(work, change.client_id, change.scopes)
        case AddWebhook():
            new = await add_endpoint(
                work, resources.keys, change.wanted,
                is_development=resources.settings.is_development,
            )  # fmt: skip
            made.webhooks.append(NewWebhookReport(new.url, new.secret))
        case ChangeWebhook():
            await change_endpoint(
                work,
                resources.keys,
                change.endpoint_id,
                types=change.wanted.types,
                authorization=change.wanted.authorization,
            )
        case RemoveWebhook():
            await remove_endpoint(work, change.endpoint_id)


async def _change_workflow(work: Work, change: SaveDraft | PublishDraft | DiscardDraft) -> None:
    match change:
        case SaveDraft():
            await save_draft(work, change.name, change.definition)
        case PublishDraft():
            workflow_id = await _get_workflow_id(work, change.name)
            # The file states the whole definition, so all open changes of the draft are published.
            change_ids = {
                each.change_id
                for each in await load_open_changes(work.tx, work.merchant_id, workflow_id)
            }
            reviewed = ReviewedChanges(frozenset(change_ids), frozenset(change_ids))
            await publish_draft(work, workflow_id, reviewed=reviewed)
        case DiscardDraft():
            await discard_draft(work, change.workflow_id)


async def _change_rules(work: Work, change: SaveRules | PublishRules | DiscardRules) -> None:
    match change:
        case SaveRules():
            await save_rules_draft(work, change.document)
        case PublishRules():
            await publish_rules_draft(work)
        case DiscardRules():
            await discard_rules_draft(work)


async def _get_workflow_id(work: Work, name: str) -> UUID:
    """Return the id of a workflow, which an earlier change may have created."""
    workflows = await load_workflows(work.tx, work.merchant_id)
    return next(each.workflow_id for each in workflows if each.name == name)
