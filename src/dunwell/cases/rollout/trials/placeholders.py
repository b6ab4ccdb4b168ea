"""The placeholders that a text may use, with what each becomes in a message to a made-up debtor."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.sample_contact import make_sample
from dunwell.cases.rollout.trials.writing import TrialWriter
from dunwell.contact.escalation.contacts.compose_contact import gather_facts
from dunwell.contact.messages.codes import CODE_MASK
from dunwell.contact.messages.formatting import Values
from dunwell.contact.messages.links import TOKEN_MASK
from dunwell.contact.messages.placeholders import (
    GREETING,
    GREETING_USED,
    ITEMS,
    LANDING_CODE,
    NAMES,
    SNIPPET_PREFIX,
)
from dunwell.core.workflows.text_places import Place

_TO_PAY = timedelta(days=13)
_HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class ShownPlaceholder:
    """`name`: as it stands between the braces. `becomes`: of a snippet, its own text."""

    name: str
    becomes: str

    @property
    def is_snippet(self) -> bool:
        return self.name.startswith(SNIPPET_PREFIX)


def show_placeholders(work: Work, writer: TrialWriter, place: Place) -> list[ShownPlaceholder]:
    """Those that may stand there, snippets last. Raises MerchantNotConfigured."""
    work.need(Right.CONFIGURE)
    today = writer.process.calendar.local_date(work.now)
    sample = make_sample(work.merchant.configuration.currency, today)
    planned = sample.plan(place.channel or CHANNELS[0])
    values = Values(gather_facts(writer.head, planned, today, today + _TO_PAY), place.language)
    shown = [ShownPlaceholder(name, _hide(values.text(name))) for name in _list_names(place)]
    if place.group == "snippets":
        return shown
    snippets = writer.definition.snippets
    shown += [
        ShownPlaceholder(f"{SNIPPET_PREFIX}{name}", texts.get(place.language, ""))
        for name, texts in snippets.items()
    ]
    if GREETING not in snippets:
        shown.append(ShownPlaceholder(GREETING_USED, values.text(GREETING_USED)))
    return shown


def _list_names(place: Place) -> Iterator[str]:
    """A table stands in no SMS, and a code on letters alone."""
    kept_out: dict[str, tuple[Channel | None, ...]] = {
        ITEMS: ("EMAIL", "LETTER", None), LANDING_CODE: ("LETTER",),
    }  # fmt: skip
    yield from (name for name in NAMES if place.channel in kept_out.get(name, (place.channel,)))


def _hide(text: str) -> str:
    """Without what leads nowhere."""
    return text.replace(TOKEN_MASK, _HIDDEN).replace(CODE_MASK, _HIDDEN)
