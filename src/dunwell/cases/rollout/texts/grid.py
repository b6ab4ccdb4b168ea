"""All texts of a definition as a grid of channels and languages, with missing texts and faults.
Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dunwell.accounts.merchants.configuration import CHANNELS, Channel, Configuration
from dunwell.contact.escalation.schedule import list_channels
from dunwell.contact.messages.templates.merchant_rules import (
    list_forbidden_word_faults,
    list_missing_value_faults,
)
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.texts import (
    Group,
    TextContent,
    TextPlace,
    find_text,
    find_text_faults,
    get_channel_texts,
)
from dunwell.platform.errors import Fault


@dataclass(frozen=True, slots=True)
class TextCell:
    """A text of the grid. `written` is None if it is missing."""

    place: TextPlace
    written: TextContent | None
    faults: Sequence[Fault]

    @property
    def is_incomplete(self) -> bool:
        """True if the text exists, but its subject or its body is missing."""
        written = self.written
        return written is not None and not (
            written.body and (written.subject or not self.place.has_subject)
        )


@dataclass(frozen=True, slots=True)
class TextGridRow:
    """A template's texts for one channel, or a snippet's, by language. `steps` has the names of the
    steps that send the template through this channel."""

    channel: Channel | None
    cells: Sequence[TextCell]
    steps: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TextGridBlock:
    """A template or a snippet. `others` has the channels for which a template has no text and needs
    none."""

    name: str
    rows: Sequence[TextGridRow]
    others: Sequence[Channel] = ()


@dataclass(frozen=True, slots=True)
class TextGrid:
    languages: Sequence[str]
    templates: Sequence[TextGridBlock]
    snippets: Sequence[TextGridBlock]

    @property
    def gaps(self) -> int:
        """The number of missing and incomplete texts."""
        return sum(each.written is None or each.is_incomplete for each in self._list_cells())

    @property
    def faulty(self) -> int:
        """The number of complete texts with faults that prevent publication."""
        cells = self._list_cells()
        return sum(bool(each.written and not each.is_incomplete and each.faults) for each in cells)

    def _list_cells(self) -> Iterator[TextCell]:
        for block in (*self.templates, *self.snippets):
            for row in block.rows:
                yield from row.cells


def build_text_grid(definition: Definition, configuration: Configuration) -> TextGrid:
    """Build the grid. `configuration` is the merchant's. A template that a step names but that does
    not exist has only missing texts."""
    by_pointer = _list_faults_by_pointer(definition, configuration)
    steps_by_text = _list_steps_by_text(definition)
    names = dict.fromkeys([*definition.templates, *(name for name, _ in steps_by_text)])
    languages = list(dict.fromkeys(definition.settings.languages))

    def build_row(name: str, channel: Channel | None) -> TextGridRow:
        group: Group = "snippets" if channel is None else "templates"
        places = [TextPlace(group, name, language, channel) for language in languages]
        cells = [
            TextCell(place, find_text(definition, place), _list_faults(by_pointer, place))
            for place in places
        ]
        return TextGridRow(
            channel, cells, steps_by_text.get((name, channel), ()) if channel else ()
        )

    def build_block(name: str) -> TextGridBlock:
        template = definition.templates.get(name)
        used_channels = [
            channel
            for channel in CHANNELS
            if (name, channel) in steps_by_text
            or (template is not None and get_channel_texts(template, channel))
        ]
        rows = [build_row(name, channel) for channel in used_channels]
        others = [channel for channel in CHANNELS if channel not in used_channels]
        return TextGridBlock(name, rows, others)

    return TextGrid(
        languages=languages,
        templates=[build_block(name) for name in names],
        snippets=[TextGridBlock(name, [build_row(name, None)]) for name in definition.snippets],
    )


def _list_faults_by_pointer(
    definition: Definition, configuration: Configuration
) -> Mapping[str, Sequence[Fault]]:
    faults: dict[str, list[Fault]] = defaultdict(list)
    for fault in (
        *find_text_faults(definition.templates, definition.snippets, definition.settings.languages),
        *list_template_faults(definition),
        *list_forbidden_word_faults(definition, configuration.forbidden_words),
        *list_missing_value_faults(configuration, definition),
    ):
        faults[fault.path].append(fault)
    return faults


def _list_faults(by_pointer: Mapping[str, Sequence[Fault]], place: TextPlace) -> list[Fault]:
    return [fault for pointer in place.pointers for fault in by_pointer.get(pointer, ())]


def _list_steps_by_text(definition: Definition) -> Mapping[tuple[str, Channel], Sequence[str]]:
    """Return the names of the steps by the template and channel that they send, including
    fallbacks."""
    names: dict[tuple[str, Channel], list[str]] = defaultdict(list)
    for step in definition.steps:
        if isinstance(step, ContactStep):
            for channel in dict.fromkeys(list_channels(step)):
                names[step.template, channel].append(step.name)
    return names
