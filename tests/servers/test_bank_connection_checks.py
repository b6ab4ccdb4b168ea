"""The findings and remedies of doctor for connections to banks: a folder on this machine, and a
real SFTP server with a fault."""

from pathlib import Path

import asyncssh

from dunwell.accounts.installation.bank_connections import BankFolder, BankServer
from dunwell.interfaces.cli.findings.banks import BankConnectionUse, check_bank_connection
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from tests.servers.sshd import Sshd
from tests.servers.test_delivery_provider_checks import a_closed_folder
from tests.support.print_files import list_files

_UNUSED = BankConnectionUse()
_DELIVERS = BankConnectionUse(delivers_for=("teekontor",))


def a_server(sshd: Sshd, folder: str = "") -> BankServer:
    provider = sshd.provider()
    return BankServer(
        server=provider.server,
        host_key=provider.host_key,
        user=provider.user,
        key_file=provider.key_file,
        folder=folder or provider.folder,
    )


def secrets_of(sshd: Sshd) -> dict[str, bytes]:
    [key] = sshd.secrets.values()
    return {"bankConnections/sparkasse/keyFile": key}


async def check(
    sshd: Sshd, server: BankServer | None = None, use: BankConnectionUse = _DELIVERS
) -> DoctorFinding:
    server = server or a_server(sshd)
    found = await check_bank_connection("sparkasse", server, secrets_of(sshd), use)
    assert found.subject == "bank sparkasse"
    assert not found.is_fault or found.remedy
    return found


async def test_a_working_bank_server_is_reported_as_ok(sshd: Sshd) -> None:
    (sshd.letter_folder / "camt").mkdir()
    found = await check(sshd, use=BankConnectionUse(("", "camt"), ("teekontor",)))
    assert (found.mark, found.words) == ("ok", f"readable and writable in {sshd.letter_folder}")
    assert list_files(sshd.letter_folder) == ["camt"]


async def test_another_host_key_of_the_bank_is_a_fault(sshd: Sshd) -> None:
    server = a_server(sshd)
    sshd.stop()
    sshd.replace_host_key()
    sshd.start()
    found = await check(sshd, server)
    assert found.mark == "FAULT"
    assert "another host key than the pinned one" in found.words
    assert list_files(sshd.letter_folder) == []


async def test_a_key_that_the_bank_does_not_know_is_a_fault(sshd: Sshd) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key()
    secrets = {"bankConnections/sparkasse/keyFile": other}
    found = await check_bank_connection("sparkasse", a_server(sshd), secrets, _UNUSED)
    assert (found.mark, found.words) == (
        "FAULT", "the server refuses the user, the key or the password",
    )  # fmt: skip
    found = await check_bank_connection(
        "sparkasse", a_server(sshd), {"bankConnections/sparkasse/keyFile": b"x"}, _UNUSED
    )
    assert found.words.startswith("a key cannot be read")


async def test_a_read_only_bank_server_is_a_fault_only_if_debits_are_delivered(sshd: Sshd) -> None:
    path = sshd.folder / "sshd_config"
    sshd.stop()
    path.write_text(path.read_text().replace("internal-sftp", "internal-sftp -R"))
    sshd.start()
    found = await check(sshd)
    assert found.mark == "FAULT"
    assert found.words == (
        f"we may not write in {sshd.letter_folder}, but debits of teekontor are delivered there"
    )
    assert (await check(sshd, use=_UNUSED)).mark == "ok"


async def test_a_missing_folder_for_statements_or_a_silent_server_is_a_fault(sshd: Sshd) -> None:
    found = await check(sshd, use=BankConnectionUse(("camt",)))
    assert (found.mark, found.words) == (
        "FAULT", f"there is no folder {sshd.letter_folder}/camt",
    )  # fmt: skip
    found = await check(sshd, a_server(sshd, f"{sshd.letter_folder}/gone"))
    assert found.words == f"there is no folder {sshd.letter_folder}/gone"
    server = a_server(sshd)
    sshd.stop()
    assert (await check(sshd, server)).words == "the server does not respond"


async def test_a_local_folder_is_read_and_written(tmp_path: Path) -> None:
    folder = BankFolder(folder=str(tmp_path))
    found = await check_bank_connection("local", folder, {}, _DELIVERS)
    assert (found.mark, found.words) == ("ok", f"readable and writable in {tmp_path}")
    assert list_files(tmp_path) == []
    with a_closed_folder() as closed:
        folder = BankFolder(folder=str(closed))
        found = await check_bank_connection("local", folder, {}, _DELIVERS)
        assert found.words.startswith(f"we may not write in {closed}")
        found = await check_bank_connection("local", folder, {}, _UNUSED)
        assert found.mark == "ok"
    gone = BankFolder(folder=str(tmp_path / "gone"))
    found = await check_bank_connection("local", gone, {}, _UNUSED)
    assert found.words == f"there is no folder {tmp_path}/gone"
