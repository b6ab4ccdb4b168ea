"""`dunwell workflow check` lists the faults of a definition, and `dunwell workflow schema` prints
the JSON Schema of definitions. Neither needs a database. Other commands use this module to parse
definition files and to render their faults."""

from collections.abc import Sequence
from typing import Any, TextIO

import click

from dunwell.cases.rollout.contact_waits import list_contact_warnings
from dunwell.contact.messages.templates.merchant_rules import list_forbidden_word_faults
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.checking import (
    find_definition_faults,
    parse_definition,
    render_definition_schema,
)
from dunwell.core.workflows.definition import Definition, ProcessSettings, Template
from dunwell.core.workflows.document import DefinitionFile, locate_faults, parse_definition_text
from dunwell.interfaces.cli.output import echo_json
from dunwell.platform.errors import Fault, InvalidRequest
from dunwell.platform.text.shape import convert_if_valid


def read_definition_file(file: TextIO) -> DefinitionFile:
    """Read the definition in a file. Raises InvalidRequest if it cannot be read."""
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file.name} cannot be read. {error}") from error
    return parse_definition_text(text, file.name)


def render_faults(definition_file: DefinitionFile, faults: Sequence[Fault]) -> list[str]:
    return [
        f"{definition_file.file_name}:{each.line}: {each.path or '/'}: {each.message} ({each.code})"
        for each in locate_faults(definition_file, faults)
    ]


@click.command("check")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.pass_context
def check(ctx: click.Context, file: TextIO, is_json: bool) -> None:
    """List all faults that would prevent the definition in FILE from being published.

    Checks that depend on a merchant (its bank account, earlier versions) run when it is saved
    there.
    """
    definition_file = read_definition_file(file)
    faults = _list_all_faults(definition_file.document)
    if not faults and not is_json:
        for warning in list_contact_warnings(parse_definition(definition_file.document)):
            click.echo(f"warning: {warning.message}", err=True)
    if is_json:
        echo_json(locate_faults(definition_file, faults))
    elif faults:
        click.echo("\n".join(render_faults(definition_file, faults)))
    else:
        click.echo(f"{definition_file.file_name}: no faults.")
    ctx.exit(1 if faults else 0)


@click.command("schema")
def schema() -> None:
    """Print the JSON Schema of a definition, for editors and other tools."""
    echo_json(render_definition_schema())


def _list_all_faults(document: object) -> list[Fault]:
    faults = find_definition_faults(document)
    texts = _parse_texts(document)
    faults += list_template_faults(texts)
    faults += list_forbidden_word_faults(texts, {})
    return list(dict.fromkeys(faults))


def _parse_texts(document: object) -> Definition:
    """Return the definition's texts as far as they can be read, so that their faults are reported
    together with faults in other fields."""
    fields = _parse_object(document)
    return Definition(
        settings=ProcessSettings(languages=["en"]),
        steps=[],
        templates={
            name: _parse_template(each)
            for name, each in _parse_object(fields.get("templates")).items()
        },
        snippets={
            name: {
                language: text
                for language, text in _parse_object(each).items()
                if isinstance(text, str)
            }
            for name, each in _parse_object(fields.get("snippets")).items()
        },
    )


def _parse_template(document: object) -> Template:
    """Return the channels of the template that can be read."""
    channels = _parse_object(document).items()
    valid = {name: each for name, each in channels if convert_if_valid({name: each}, Template)}
    return convert_if_valid(valid, Template) or Template()


def _parse_object(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        return {}
    return {name: each for name, each in document.items() if isinstance(name, str)}
