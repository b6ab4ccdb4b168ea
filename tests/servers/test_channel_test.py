"""`dunwell channel test` with each adapter and a real server: one message arrives, and nothing is
recorded."""

import asyncio
import json
from email import message_from_bytes
from email.policy import default
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.installation_file import Installation, check_installation
from dunwell.contact.sending.batches.manifest import render_manifest
from dunwell.platform.resources import Resources
from tests.servers.kannel import Kannel
from tests.servers.postfix import Postfix
from tests.servers.sms_world import NAME, NUMBER, SECRETS, a_provider, wait_until
from tests.servers.sshd import Sshd
from tests.servers.test_email import drain, read_provider, receiving_server
from tests.support.command_line import CommandLine, Done
from tests.support.mail_servers import MailServer
from tests.support.operators import OWN
from tests.support.print_files import list_files, read_pdf
from tests.support.twilio import ACCOUNT, TOKEN, a_fake_twilio

__all__ = ["receiving_server"]
_TO = "Petra Hansen, Speicherweg 12, 20457 Hamburg"
_ROWS = """
SELECT (SELECT count(*) FROM communications) + (SELECT count(*) FROM contact_ledger)
     + (SELECT count(*) FROM letter_batch_items) + (SELECT count(*) FROM letter_batches)
     + (SELECT count(*) FROM debtor_notices) + (SELECT count(*) FROM audit_log)
"""


async def apply(
    resources: Resources, name: str, provider: DeliveryProvider, **secrets: bytes
) -> None:
    given = {f"deliveryProviders/{name}/{path}": secret for path, secret in secrets.items()}
    installation = Installation(delivery_providers={name: provider}, operator=OWN)
    await apply_installation(resources, installation, given)


async def run(resources: Resources, dunwell: CommandLine, *words: str) -> Done:
    """Run the command in a thread, because servers in this process answer it."""
    done = await asyncio.to_thread(dunwell.run, "channel", "test", *words)
    async with resources.database.connection() as connection:
        assert await connection.fetchval(_ROWS) == 0
    return done


async def test_a_test_email_arrives(
    resources: Resources, dunwell: CommandLine, postfix: Postfix, receiving_server: MailServer
) -> None:
    await apply(resources, "post", read_provider(postfix))
    done = await run(resources, dunwell, "post", "--to", "ops@example.org")
    assert done.stdout.startswith("Provider post accepted it: 250 2.0.0")
    drain(postfix)
    [arrived] = receiving_server.taken
    message = message_from_bytes(arrived.content, policy=default)
    assert (arrived.recipient, message["Subject"]) == ("ops@example.org", "Dunwell test message")
    # Each test is a separate message.
    await run(resources, dunwell, "post", "--to", "ops@example.org")
    drain(postfix)
    ids = {message_from_bytes(each.content)["Message-ID"] for each in receiving_server.taken}
    assert len(ids) == 2


async def test_a_refusal_of_the_mail_server_is_reported(
    resources: Resources, dunwell: CommandLine, postfix: Postfix
) -> None:
    await apply(resources, "post", read_provider(postfix))
    done = await run(resources, dunwell, "post", "--to", "ops@nowhere.example")
    assert done.returncode == 1
    assert "rejected it permanently. The mail server refused it: 550 5.1.2" in done.stderr


async def test_an_unreachable_mail_server_is_reported(
    resources: Resources, dunwell: CommandLine
) -> None:
    document = {"channel": "EMAIL", "adapter": "smtp", "server": "127.0.0.1:9"}
    providers: dict[str, Any] = {"deliveryProviders": {"post": document | {"encryption": "NONE"}}}
    await apply_installation(resources, check_installation(providers))
    done = await run(resources, dunwell, "post", "--to", "ops@example.org")
    assert "did not accept it for now. Run: dunwell doctor" in done.stderr
    done = await run(resources, dunwell, "sms", "--to", "ops@example.org")
    assert "There is no delivery provider sms. Known: post." in done.stderr


async def test_a_test_sms_arrives_through_kannel(
    resources: Resources, dunwell: CommandLine, kannel: Kannel
) -> None:
    installation = Installation(delivery_providers={NAME: a_provider(kannel.address)})
    await apply_installation(resources, installation, SECRETS)
    done = await run(resources, dunwell, NAME, "--to", NUMBER, "--from", "Nordwind")
    assert done.stdout.startswith(f"Provider {NAME} accepted it")

    async def has_arrived() -> bool:
        return len(kannel.centre.read_messages()) == 1

    await wait_until(has_arrived)
    [(_, text)] = kannel.centre.read_messages()
    assert text.startswith(f"This is a test of the delivery provider {NAME}.")


async def test_a_test_sms_arrives_through_the_twilio_api(
    resources: Resources, dunwell: CommandLine
) -> None:
    async with a_fake_twilio() as fake:
        document: dict[str, Any] = {
            "channel": "SMS", "adapter": "twilio", "server": fake.address,
            "networks": ["127.0.0.1"],
            "credentials": {"user": ACCOUNT, "passwordFile": "p"},
        }  # fmt: skip
        installation = check_installation({"deliveryProviders": {"sms": document}})
        secrets = {"deliveryProviders/sms/credentials/passwordFile": TOKEN}
        await apply_installation(resources, installation, secrets)
        done = await run(resources, dunwell, "sms", "--to", NUMBER, "--from", "Nordwind")
        assert done.returncode == 0, done.stderr
        [message] = fake.messages
    assert (message["To"], message["From"]) == (NUMBER, "Nordwind")
    assert message["Body"].startswith("This is a test of the delivery provider sms.")


def read_specimen(folder: Path) -> tuple[dict[str, Any], str, bytes]:
    """Return the manifest, the file name of its letter and the letter. The folder contains nothing
    else."""
    [manifest] = folder.glob("test-*.json")
    read = json.loads(manifest.read_text())
    [letter] = read["letters"]
    [file] = letter["files"]
    content = (folder / file["name"]).read_bytes()
    assert sha256(content).hexdigest() == file["sha256"]
    assert {each.name for each in folder.iterdir()} == {manifest.name, file["name"]}
    return read["head"], file["name"], content


def check_specimen(folder: Path, expected: str) -> None:
    head, name, content = read_specimen(folder)
    assert (head["test"], head["letters"], head["line"]) == (True, 1, "post")
    assert name in expected
    assert read_pdf(content)[1] == 1


async def test_a_test_letter_is_uploaded_to_the_print_services_server(
    resources: Resources, dunwell: CommandLine, sshd: Sshd
) -> None:
    key = sshd.secrets["deliveryProviders/post/keyFile"]
    await apply(resources, "post", sshd.provider(), keyFile=key)
    done = await run(resources, dunwell, "post", "--to", _TO)
    assert done.returncode == 0, done.stderr
    check_specimen(sshd.letter_folder, done.stdout)


async def test_no_test_letter_is_uploaded_to_a_server_with_another_host_key(
    resources: Resources, dunwell: CommandLine, sshd: Sshd
) -> None:
    key, provider = sshd.secrets["deliveryProviders/post/keyFile"], sshd.provider()
    sshd.stop()
    sshd.replace_host_key()
    sshd.start()
    await apply(resources, "post", provider, keyFile=key)
    done = await run(resources, dunwell, "post", "--to", _TO)
    assert "another host key than the pinned one. Nothing was handed over." in done.stderr
    assert list_files(sshd.letter_folder) == []


@pytest.fixture
async def folder(resources: Resources, tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    folder.mkdir()
    provider = {"channel": "LETTER", "adapter": "folder", "folder": str(folder), "layout": "c5-6"}
    await apply_installation(
        resources, check_installation({"deliveryProviders": {"post": provider}})
    )
    return folder


async def test_a_test_letter_is_written_to_a_folder(
    resources: Resources, dunwell: CommandLine, folder: Path
) -> None:
    done = await run(resources, dunwell, "post", "--to", _TO)
    assert done.returncode == 0, done.stderr
    check_specimen(folder, done.stdout)
    await asyncio.to_thread(folder.rename, folder.with_name("away"))
    done = await run(resources, dunwell, "post", "--to", _TO)
    assert "did not accept it (FileNotFoundError). Run: dunwell doctor" in done.stderr


async def test_the_out_option_writes_a_test_letter_only_to_the_file(
    resources: Resources, dunwell: CommandLine, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "specimen.pdf"
    done = await run(resources, dunwell, "post", "--to", _TO, "--out", str(path))
    assert f"{path} written, nothing handed over" in done.stdout
    assert read_pdf(await asyncio.to_thread(path.read_bytes))[1] == 1
    assert list_files(folder) == []


@pytest.mark.parametrize("address", [" , ", ", ".join("abcdefgh")])
async def test_an_address_needs_one_to_six_lines(
    resources: Resources, dunwell: CommandLine, folder: Path, address: str
) -> None:
    done = await run(resources, dunwell, "post", "--to", address)
    assert "An address has one to 6 lines." in done.stderr
    assert list_files(folder) == []


async def test_a_real_manifest_is_not_marked_as_a_test(resources: Resources) -> None:
    now = resources.clock.now()
    batch = render_manifest(resources.ids.new(now), "post", now, [])
    assert "test" not in msgspec.json.decode(batch)["head"]
