"""The portal's settings pages of a merchant and of the installation: workflows, rules, settings,
delivery providers. Pure."""

from bench.portal_page import Known, Page, list_installation_pages, list_merchant_pages


def list_settings_pages(known: Known) -> list[Page]:
    return [
        *_list_workflow_pages(known), *_list_rules(known), *_list_settings(known),
        *_list_delivery_providers(known),
    ]  # fmt: skip


def _list_workflow_pages(known: Known) -> list[Page]:
    """Return the pages of the merchant's workflows and their templates."""
    first = {"workflow_id": known.workflow_id}
    seldom = {"workflow_id": known.seldom_id}
    version = {**first, "version": "v1.0"}
    text = {**first, "template": "reminder", "channel": "EMAIL", "language": "de"}
    claim = {"claim": str(known.disputed_id)}
    return list_merchant_pages(
        known,
        {
            "processes": ("workflows", {}),
            "a process": ("workflow", first),
            "a process: as a whole": ("workflow_manage", first),
            "a process: settings": ("workflow_settings", first),
            "a process: a step": ("workflow_step", {**first, "step_id": 1}),
            "a process: a new step": ("workflow_step_new", first),
            "a process: to publish, for very many": ("workflow_publish", first),
            "a process: to publish, for few": ("workflow_publish", seldom),
            "a process: to discard": ("workflow_discard", first),
            "a process: versions": ("workflow_history", first),
            "a process: a version": ("workflow_version", version),
            "a process: compared": ("workflow_compare", first),
            "a process: as a file": ("workflow_file", first),
            "a process: simulated": ("simulate", first),
            "a process: simulated for a claim": ("simulate", {**first, **claim}),
            "texts": ("texts", first),
            "a text": ("text", text),
            "a text: previewed": ("text_preview", text),
            "a text: previewed for a claim": ("text_preview", {**text, **claim}),
        },
    )


def _list_rules(known: Known) -> list[Page]:
    """Return the pages of the assignment rules. The user waits while the effect of a draft is
    computed, so this is not like the first page of a list."""
    return list_merchant_pages(
        known,
        {
            "rules": ("rules", {}),
            "a new rule": ("rule", {}),
            "rules: tried on a claim": ("rules_try", {"reference": str(known.disputed_id)}),
            "rules: tried on none": ("rules_try", {"reference": "RE-2026-none"}),
            "rules: to publish": ("rules_publish", {}),
            "rules: versions": ("rules_versions", {}),
            "rules: a version": ("rules_version", {"version": 1}),
            "rules: as a file": ("rules_file", {}),
        },
    )


def _list_settings(known: Known) -> list[Page]:
    sections = ("account", "channels", "payment", "guards", "offers", "disputes", "page")
    return list_merchant_pages(
        known,
        {
            "settings": ("settings", {}),
            **{f"settings: {each}": ("settings_section", {"section": each}) for each in sections},
            "settings: webhooks": ("settings_webhooks", {}),
            "settings: as a file": ("settings_file", {}),
            "credentials": ("credentials", {}),
            "a credential": ("credential", {"client_id": known.client_id}),
        },
    )


def _list_delivery_providers(known: Known) -> list[Page]:
    batch = {"batch_id": known.batch_id}
    return list_installation_pages(
        {
            "delivery providers": ("delivery_providers", {}),
            "unmatched messages": ("unmatched_messages", {}),
            "unmatched reports": ("unmatched_messages", {"of": "reports"}),
            "letter batches": ("letter_batches", {}),
            "letter batches of a provider": ("letter_batches", {"provider": "printer"}),
            "a letter batch": ("letter_batch", batch),
            "a letter batch: what did not arrive": ("letter_batch", {**batch, "show": "failed"}),
            "letters with an unknown outcome": ("doubtful_letters", {"provider": "printer"}),
        }
    )
