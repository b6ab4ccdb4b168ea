"""Prints each event of the merchant's webhooks as it arrives."""

from datetime import datetime

from examples.installation import DemoInstallation
from examples.outbox import read_message
from examples.progress import ZONE, DemoProgress, Event, print_line, render_money

_CHANNELS = {"EMAIL": "e-mail", "SMS": "SMS", "LETTER": "letter"}
_INDENT = " " * 14


def print_new_events(installation: DemoInstallation, progress: DemoProgress) -> None:
    for event in progress.pop_new_events():
        _print_event(installation, event)


def _print_event(installation: DemoInstallation, event: Event) -> None:
    """Print what happened, and the webhook that reported it."""
    local = datetime.fromisoformat(event["date"]).astimezone(ZONE)
    reference = event["claim"]["referenceNumber"]
    what, words = _describe(installation, event)
    print_line(f"{local:%d %b %H:%M}  {what:<11}{reference}  {words}")
    step = f" ({event['actionStep']['name']})" if "actionStep" in event else ""
    print_line(f"{_INDENT}{'webhook':<11}{reference}  {event['type']}{step}, signature verified")


def _describe(installation: DemoInstallation, event: Event) -> tuple[str, str]:
    claim = event["claim"]
    match event["type"]:
        case "ESCALATED":
            channel = claim["communication"]["channel"]
            folder, merchant_id = installation.data_dir, claim["merchantId"]
            message = read_message(folder, merchant_id, claim["communication"])
            return _CHANNELS[channel], f"to {message.recipient}: {message.subject}"
        case "FEE_ADDED":
            fee = claim["fee"]
            return "fee", f"{render_money(int(fee['value']))} {fee['type']}"
        case "CHECKPOINT_REACHED":
            return "checkpoint", claim["details"]["message"]
        case "DETAILS_ACCESSED":
            channel = claim["details"].get("communicationType", "no message")
            return "page", f"the claim was opened, coming from {channel}"
        case "PAYMENT_IN_PROGRESS" | "PAYMENT_COMPLETED":
            payment = claim["payment"]
            state = "started" if event["type"] == "PAYMENT_IN_PROGRESS" else "completed"
            words = f"{render_money(payment['amount'])} by {payment['providerName']}, {state}"
            return "payment", words
        case other:
            return _describe_plan(other, claim)


def _describe_plan(kind: str, claim: Event) -> tuple[str, str]:
    """Describe what happens to a payment plan and its direct debits, or name the event."""
    match kind:
        case "PAYMENT_MODALITY_STATE_CHANGE":
            return "plan", claim["paymentModality"]["state"].lower()
        case "MANDATE_CHANGED":
            mandate = claim["mandate"]
            return "mandate", f"{mandate['reference']} {mandate['state'].lower()}"
        case "PAYMENT_REVERSED":
            return "payment", f"{render_money(claim['reversal']['amount'])} taken back by the bank"
        case other:
            return other.lower(), ""
