"""What applying a merchant file answers (CONTRACT 11), to the letter of its JSON. Pure."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dunwell.cases.rollout.preview.effects_views import NextContactsView


class NewCredentialReport(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    client_id: str
    client_secret: str


class NewWebhookReport(msgspec.Struct, frozen=True, rename="camel"):
    url: str
    secret: str


class WorkflowPreview(msgspec.Struct, frozen=True, rename="camel"):
    """What publishing the file's definition of a workflow would do to the claims in process."""

    workflow: str
    before: str
    after: str
    verdict: str
    differences: list[str]
    claims_reached: int
    claims_staying: int
    next_contacts: NextContactsView


class ApplyReport(msgspec.Struct, frozen=True, rename="camel"):
    """Secrets stand here once, when they are new; no merchant id: a plan for a new merchant."""

    merchant_id: int | None
    key: str
    changes: list[str]
    credentials: list[NewCredentialReport] = []
    webhooks: list[NewWebhookReport] = []
    # What the law asks for and the merchant lacks, each with its reason; absent when nothing is.
    gaps: list[str] | UnsetType = UNSET
    # What should be changed about the file's workflows; absent when nothing should.
    warnings: list[str] | UnsetType = UNSET
    # Of a plan: the changed definitions of workflows that have a version.
    previews: list[WorkflowPreview] | UnsetType = UNSET

    def as_json(self) -> dict[str, Any]:
        """The answer of `--json`."""
        report: dict[str, Any] = msgspec.to_builtins(self)
        return report

    def as_text(self) -> str:
        """The lines a person reads."""
        number = "new" if self.merchant_id is None else str(self.merchant_id)
        lines = [f'Merchant "{self.key}" ({number})']
        lines += [f"  {change}" for change in self.changes] or ["  nothing to change"]
        lines += [f"  lacks {gap}" for gap in self.gaps or []]
        lines += [f"  warning: {warning}" for warning in self.warnings or []]
        for credential in self.credentials:
            lines += [
                f'Credential "{credential.name}", shown this once:',
                f"  client_id      {credential.client_id}",
                f"  client_secret  {credential.client_secret}",
            ]
        for webhook in self.webhooks:
            lines += [f"Webhook {webhook.url}, shown this once:", f"  secret  {webhook.secret}"]
        return "\n".join(lines)
