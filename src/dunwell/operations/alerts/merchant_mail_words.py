"""The e-mail that tells a merchant that webhook endpoints of its own fail, or work again. It names
where they lead, since when, the last answer and where to look, and no more of the address, which
may hold a secret. Pure.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from dunwell.core.events.webhooks.endpoint import ToldEndpoint, find_origin
from dunwell.platform.text.translation import find_staff_language

# Enough to see what is wrong; a merchant with more has one cause, and a page that lists them all.
_MOST_NAMED = 20


def write_merchant_mail(
    endpoints: Sequence[ToldEndpoint], language: str, public_url: str
) -> tuple[str, str]:
    """Subject and text. endpoints: of one merchant, at least one; all of them fail, or all work
    again."""
    first, translate = endpoints[0], find_staff_language(language).translate
    origin, pages = find_origin(first.url), f"{public_url}/portal/m/{first.merchant_id}/webhooks"
    if first.since is not None:
        subject = translate("Failing webhooks: %(origin)s", origin=origin)
        intro = translate(
            "Dunwell cannot deliver events to the webhook endpoints below. They are kept and tried "
            "again for about three days. An endpoint that only fails for five days is switched off."
        )
    else:
        subject = translate("Webhooks work again: %(origin)s", origin=origin)
        intro = translate("These webhook endpoints accept events again. What waited is sent now.")
    blocks = [intro, *(_write_endpoint(each, translate, pages) for each in endpoints[:_MOST_NAMED])]
    left_out = len(endpoints) - _MOST_NAMED
    if left_out > 0:
        blocks.append(translate("And %(count)s more: %(address)s", count=left_out, address=pages))
    if first.since is not None:
        end = translate(
            "You receive this message because this address is your contact address in Dunwell. "
            "You will receive one more message for each endpoint when it works again."
        )
        blocks.append(end)
    if len(endpoints) > 1:
        others = len(endpoints) - 1
        subject = translate("%(subject)s and %(count)s more", subject=subject, count=others)
    return subject, "\n\n".join(blocks) + "\n"


def _write_endpoint(endpoint: ToldEndpoint, translate: Callable[..., str], pages: str) -> str:
    lines = [find_origin(endpoint.url)]
    if endpoint.since is not None:
        lines.append(translate("Failing since %(since)s", since=_render_at(endpoint.since)))
    if endpoint.status is not None:
        lines.append(translate("Last response: HTTP status %(status)s", status=endpoint.status))
    elif endpoint.error is not None:
        error = endpoint.error
        lines.append(translate("No response at the last attempt (%(error)s)", error=error))
    address = f"{pages}/{endpoint.endpoint_id}"
    lines.append(translate("Details: %(address)s", address=address))
    return "\n".join(lines)


def _render_at(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
