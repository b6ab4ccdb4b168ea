"""`dunwell workflow`: what it shows, asks, refuses, and saves."""

import json
from pathlib import Path

import pytest

from dunwell.core.workflows.document import render_document
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml, render_yaml
from tests.support.command_line import CommandLine, Done
from tests.support.definitions import a_definition, a_document
from tests.support.harness import Harness, a_harness

NORDWIND = ("nordwind", "Standard")
# The usual definition waits a week before its fee.
WARNING = (
    'warning: The wait after "First reminder" is too short for a pay-by date: sentences with '
    "{{ payBy }} are left out of messages sent on some days. Wait at least 11 days, longer if bank "
    "holidays fall into it.\n"
)
WORDS = [
    "list", "show", "diff", "draft", "publish", "discard", "deactivate", "activate", "rename",
    "delete", "check", "schema", "preview", "message",
]  # fmt: skip


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return the merchant nordwind with the workflow "Standard" v1.0 and two claims in process on
    it."""
    harness = await a_harness(resources, clock, a_definition())
    await harness.create("A", "B")
    return harness


def run(dunwell: CommandLine, *words: str) -> Done:
    return dunwell.run("workflow", *words)


def a_file(folder: Path, **changes: object) -> str:
    path = folder / "definition.yaml"
    path.write_text(render_yaml(a_document(**changes)))
    return str(path)


def line_of(file: str, text: str) -> int:
    return 1 + Path(file).read_text().splitlines().index(text)


async def states(harness: Harness) -> list[str]:
    rows = await harness.rows(
        "SELECT state FROM workflow_versions WHERE merchant_id = $1 ORDER BY major, minor"
    )
    return [row["state"] for row in rows]


def test_help_lists_every_command(dunwell: CommandLine) -> None:
    done = run(dunwell, "--help")
    shown = [line.split()[0] for line in done.stdout.split("Commands:\n")[1].splitlines()]
    assert [word for word in shown if word in WORDS] == WORDS


async def test_the_list_is_aligned_and_counts_claims(
    dunwell: CommandLine, harness: Harness
) -> None:
    assert run(dunwell, "list", "nordwind").stdout == (
        "NAME      VERSION  DRAFT  ASSIGNED  ACTIVE CLAIMS\n"
        "Standard  v1.0     -      yes                   2\n"
    )
    [listed] = json.loads(run(dunwell, "list", "nordwind", "--json").stdout)
    assert (listed["name"], listed["version"], listed["activeClaims"]) == ("Standard", "v1.0", 2)


async def test_a_shown_definition_can_be_saved_unchanged(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    shown = run(dunwell, "show", *NORDWIND)
    assert parse_yaml(shown.stdout) == render_document(a_definition())
    assert "# v1.0     2026-03-02 09:00 UTC              2\n" in shown.stdout
    file = tmp_path / "shown"
    for text in (shown.stdout, run(dunwell, "show", *NORDWIND, "--json").stdout):
        file.write_text(text)
        done = run(dunwell, "draft", *NORDWIND, str(file))
        assert (done.returncode, done.stdout) == (
            0,
            '"Standard" equals the published version: there is no draft, and nothing to publish\n',
        )  # fmt: skip
    assert await states(harness) == ["PUBLISHED"]


async def test_saving_a_draft_lists_its_changes_and_the_claims_it_reaches(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    done = run(dunwell, "draft", *NORDWIND, a_file(tmp_path, snippets={}))
    assert done.stdout.splitlines()[1:] == [
        "v1.0 -> v1.1 (minor)",
        "  snippets.signature removed",
        "2 claims in process move to it, 0 claims stay on their current version.",
    ]
    assert (done.returncode, done.stderr) == (0, WARNING)
    compared = run(dunwell, "diff", *NORDWIND)
    assert compared.stdout.splitlines() == [
        "v1.0 -> draft  minor: only the contents of single actions differ",
        "  snippets.signature removed",
    ]


async def test_publishing_without_a_terminal_needs_yes(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    run(dunwell, "draft", *NORDWIND, a_file(tmp_path, snippets={}))
    asked = run(dunwell, "publish", *NORDWIND)
    assert asked.returncode == 2
    assert "v1.0 -> v1.1 (minor)" in asked.stdout
    refusal = "dunwell: Confirmation needs a terminal. Nothing was changed."
    assert asked.stderr.startswith(f"{WARNING}{refusal}")
    assert await states(harness) == ["PUBLISHED", "DRAFT"]
    done = run(dunwell, "publish", *NORDWIND, "--yes", "--comment", "Shorter")
    assert done.stdout.splitlines()[-1].startswith("published as v1.1 (")
    assert "  Shorter\n" in run(dunwell, "show", *NORDWIND).stdout
    assert await states(harness) == ["PUBLISHED", "PUBLISHED"]


async def test_a_draft_equal_to_the_published_version_is_discarded(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    changed = a_file(tmp_path, snippets={"greeting": {"en": "Hello", "de": "Hallo"}})
    run(dunwell, "draft", *NORDWIND, changed)
    before = await states(harness)
    done = run(dunwell, "draft", *NORDWIND, a_file(tmp_path))
    assert "there is no draft" in done.stdout
    assert (before, await states(harness)) == (["PUBLISHED", "DRAFT"], ["PUBLISHED"])


async def test_a_faulty_draft_is_saved_and_reported_by_line_and_not_published(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    file = a_file(tmp_path, templates={})
    line = line_of(file, "    template: reminder")
    saved = run(dunwell, "draft", *NORDWIND, file)
    assert saved.returncode == 0
    fault = 'There is no template "reminder". None is known here. (UNKNOWN_TEMPLATE)'
    assert saved.stderr.splitlines() == [
        "It cannot be published yet:",
        f"{file}:{line}: /steps/0/template: {fault}",
        WARNING.rstrip(),
    ]
    refused = run(dunwell, "publish", *NORDWIND, "--yes")
    assert refused.returncode == 1
    assert refused.stderr.startswith("dunwell: /steps/0/template: ")
    assert await states(harness) == ["PUBLISHED", "DRAFT"]


async def test_a_file_that_does_not_fit_the_schema_is_refused_by_line(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    file = a_file(tmp_path, step=[])
    done = run(dunwell, "draft", *NORDWIND, file)
    line = line_of(file, "step: []")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{file}:{line}: /step: ")
    assert await states(harness) == ["PUBLISHED"]


async def test_a_version_read_before_another_changed_it_is_refused(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    file = tmp_path / "shown.json"
    file.write_text(run(dunwell, "show", *NORDWIND, "--json").stdout)
    await harness.publish(a_definition(snippets={}))
    refused = run(dunwell, "draft", *NORDWIND, str(file))
    assert refused.returncode == 1
    assert refused.stderr.startswith("dunwell: The workflow was changed since version ")
    assert await states(harness) == ["PUBLISHED", "PUBLISHED"]


async def test_without_a_file_a_new_draft_is_created_once(
    dunwell: CommandLine, harness: Harness
) -> None:
    made = run(dunwell, "draft", *NORDWIND)
    assert parse_yaml(made.stdout) == render_document(a_definition())
    assert "# Version draft (" in made.stdout
    again = run(dunwell, "draft", *NORDWIND)
    assert again.returncode == 1
    assert again.stderr.startswith("dunwell: The workflow already has a draft (")
    assert await states(harness) == ["PUBLISHED", "DRAFT"]


async def test_only_an_unused_workflow_is_deleted(dunwell: CommandLine, harness: Harness) -> None:
    refused = run(dunwell, "delete", *NORDWIND, "--yes")
    assert refused.returncode == 1
    assert refused.stderr == (
        "dunwell: The workflow is in use: 2 claims are in process on v1; "
        "it is the default of the assignment rules (published).\n"
    )
    await harness.publish(a_definition(), "Other")
    for claim_id in [row["claim_id"] for row in await harness.rows(
        "SELECT claim_id FROM claims WHERE merchant_id = $1"
    )]:  # fmt: skip
        await harness.pay(claim_id, 10240, f"tx-{claim_id}")
    assert run(dunwell, "delete", *NORDWIND, "--yes").stdout == '"Standard" is deleted\n'
    assert "Standard" not in run(dunwell, "list", "nordwind").stdout


async def test_deactivating_names_the_rules_that_skip_it(
    dunwell: CommandLine, harness: Harness
) -> None:
    assert run(dunwell, "deactivate", *NORDWIND).stdout.splitlines() == [
        '"Standard" is deactivated',
        "  skipped from now on: it is the default of the assignment rules (published)",
    ]
    assert run(dunwell, "activate", *NORDWIND).stdout == '"Standard" is active again\n'
    renamed = run(dunwell, "rename", *NORDWIND, "Gentle")
    assert renamed.stdout == '"Standard" was renamed to "Gentle"\n'
    gone = run(dunwell, "deactivate", *NORDWIND)
    assert gone.stderr == 'dunwell: There is no workflow "Standard". Known: Gentle.\n'


def test_faults_of_fields_and_texts_are_reported_at_once(
    dunwell: CommandLine, tmp_path: Path
) -> None:
    document = a_document(snippets={"greeting": {"en": 1, "de": "Hallo {{ nobody }}"}})
    document["settings"]["languages"] = "en"
    document["steps"][1]["days"] = "seven"
    email = document["templates"]["reminder"]["EMAIL"]
    email["body"]["en"] = "Call the police, {{ debtor.nam }}. {{ snippet.greeting }}"
    document["templates"]["broken"] = {"EMAIL": 1, "SMS": {"body": {"en": "{{ claim.idd }}"}}}
    file = tmp_path / "definition.yaml"
    file.write_text(render_yaml(document))

    output = json.loads(run(dunwell, "check", str(file), "--json").stdout)

    paths = {(each["path"], each["code"]) for each in output}
    assert paths >= {
        ("/steps/1/days", "WRONG_TYPE"),
        ("/snippets/greeting/en", "WRONG_TYPE"),
        ("/snippets/greeting/de", "UNKNOWN_PLACEHOLDER"),
        ("/templates/reminder/EMAIL/body/en", "UNKNOWN_PLACEHOLDER"),
        ("/templates/reminder/EMAIL/body/en", "FORBIDDEN_WORD"),
        ("/templates/broken/EMAIL", "WRONG_TYPE"),
        ("/templates/broken/SMS/body/en", "UNKNOWN_PLACEHOLDER"),
    }
    assert "UNKNOWN_SNIPPET" not in {code for _, code in paths}


def test_a_file_is_checked_without_a_database(dunwell: CommandLine, tmp_path: Path) -> None:
    nowhere = {"DUNWELL_DATABASE_URL": "postgresql://postgres@127.0.0.1:1/postgres"}
    sound = dunwell.run("workflow", "check", a_file(tmp_path), **nowhere)
    assert (sound.returncode, sound.stdout.count("\n")) == (0, 1)
    file = a_file(tmp_path, snippets={"signature": {"de": "{{ nonsense }}", "en": "x"}})
    faulty = dunwell.run("workflow", "check", file, **nowhere)
    line = line_of(file, "    de: '{{ nonsense }}'")
    assert faulty.returncode == 1
    assert faulty.stdout.startswith(f"{file}:{line}: /snippets/signature/de: ")
    assert json.loads(dunwell.run("workflow", "check", file, "--json").stdout)[0]["line"] == line


def test_the_printed_schema_can_be_used_by_editors(dunwell: CommandLine) -> None:
    schema = json.loads(run(dunwell, "schema").stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"Definition", "ProcessSettings", "WaitStep"} <= set(schema["$defs"])
