"""Tells what happens, event by event, as the merchant's webhooks report it."""

from datetime import datetime

from examples.outbox import read_message
from examples.stage import Stage
from examples.story import ZONE, Event, Story, render_money, say

_CHANNELS = {"EMAIL": "e-mail", "SMS": "SMS", "LETTER": "letter"}
_INDENT = " " * 14


def tell_news(stage: Stage, story: Story) -> None:
    for event in story.take_news():
        _tell_event(stage, event)


def _tell_event(stage: Stage, event: Event) -> None:
    """What happened, and that it was told."""
    local = datetime.fromisoformat(event["date"]).astimezone(ZONE)
    reference = event["claim"]["referenceNumber"]
    what, words = _describe(stage, event)
    say(f"{local:%d %b %H:%M}  {what:<11}{reference}  {words}")
    step = f" ({event['actionStep']['name']})" if "actionStep" in event else ""
    say(f"{_INDENT}{'webhook':<11}{reference}  {event['type']}{step}, signature verified")


def _describe(stage: Stage, event: Event) -> tuple[str, str]:
    claim = event["claim"]
    match event["type"]:
        case "ESCALATED":
            channel = claim["communication"]["channel"]
            message = read_message(stage.data_dir, claim["merchantId"], claim["communication"])
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
            state = "begun" if event["type"] == "PAYMENT_IN_PROGRESS" else "completed"
            words = f"{render_money(payment['amount'])} by {payment['providerName']}, {state}"
            return "payment", words
        case other:
            return other.lower(), ""
