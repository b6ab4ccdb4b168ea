"""The e-mail that tells a merchant that webhook endpoints of its own fail, or work again. It names
where they lead, since when, the last answer and where to look, and no more of the address, which
may hold a secret. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from dunwell.core.events.endpoint_health import ToldEndpoint, find_origin

# Enough to see what is wrong; a merchant with more has one cause, and a page that lists them all.
_MOST_NAMED = 20

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "failing subject": "Failing webhooks: {origin}",
        "working subject": "Webhooks work again: {origin}",
        "more subject": "{subject} and {count} more",
        "failing intro": (
            "Dunwell cannot deliver events to the webhook endpoints below. They are kept and tried "
            "again for about three days. An endpoint that only fails for five days is switched off."
        ),
        "working intro": "These webhook endpoints accept events again. What waited is sent now.",
        "since": "Failing since {since}",
        "status": "Last response: HTTP status {status}",
        "error": "No response at the last attempt ({error})",
        "where": "Details: {address}",
        "more": "And {count} more: {address}",
        "end": (
            "You receive this message because this address is your contact address in Dunwell. "
            "You will receive one more message for each endpoint when it works again."
        ),
    },
    "de": {
        "failing subject": "Gestörte Webhooks: {origin}",
        "working subject": "Webhooks funktionieren wieder: {origin}",
        "more subject": "{subject} und {count} weitere",
        "failing intro": (
            "Dunwell kann an die folgenden Webhook-Endpunkte keine Ereignisse zustellen. Sie "
            "bleiben gespeichert und werden etwa drei Tage lang erneut versucht. Ein Endpunkt, der "
            "fünf Tage lang nur Fehler liefert, wird abgeschaltet."
        ),
        "working intro": (
            "Diese Webhook-Endpunkte nehmen wieder Ereignisse an. Was gewartet hat, wird jetzt "
            "gesendet."
        ),
        "since": "Gestört seit {since}",
        "status": "Letzte Antwort: HTTP-Status {status}",
        "error": "Keine Antwort beim letzten Versuch ({error})",
        "where": "Details: {address}",
        "more": "Und {count} weitere: {address}",
        "end": (
            "Sie erhalten diese Nachricht, weil diese Adresse Ihre Kontaktadresse in Dunwell ist. "
            "Für jeden Endpunkt erhalten Sie eine weitere Nachricht, sobald er wieder funktioniert."
        ),
    },
}


def write_merchant_mail(
    endpoints: Sequence[ToldEndpoint], language: str, public_url: str
) -> tuple[str, str]:
    """Subject and text. endpoints: of one merchant, at least one; all of them fail, or all work
    again."""
    words = _WORDS.get(language, _WORDS["en"])
    kind = "failing" if endpoints[0].since is not None else "working"
    pages = f"{public_url}/portal/m/{endpoints[0].merchant_id}/webhooks"
    blocks = [words[f"{kind} intro"]]
    blocks += [_write_endpoint(each, words, pages) for each in endpoints[:_MOST_NAMED]]
    left_out = len(endpoints) - _MOST_NAMED
    if left_out > 0:
        blocks.append(words["more"].format(count=left_out, address=pages))
    if kind == "failing":
        blocks.append(words["end"])
    subject = words[f"{kind} subject"].format(origin=find_origin(endpoints[0].url))
    if len(endpoints) > 1:
        subject = words["more subject"].format(subject=subject, count=len(endpoints) - 1)
    return subject, "\n\n".join(blocks) + "\n"


def _write_endpoint(endpoint: ToldEndpoint, words: Mapping[str, str], pages: str) -> str:
    lines = [find_origin(endpoint.url)]
    if endpoint.since is not None:
        lines.append(words["since"].format(since=_render_at(endpoint.since)))
    if endpoint.status is not None:
        lines.append(words["status"].format(status=endpoint.status))
    elif endpoint.error is not None:
        lines.append(words["error"].format(error=endpoint.error))
    lines.append(words["where"].format(address=f"{pages}/{endpoint.endpoint_id}"))
    return "\n".join(lines)


def _render_at(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
