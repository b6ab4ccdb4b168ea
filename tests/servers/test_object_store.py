"""Uploads in a real S3 server, set up as docs/operator/running.md describes."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from dunwell.core.files.storage import ContentMissing, Storage
from tests.servers.object_store import ACCESS_KEY, HOST, ObjectStore, run_object_store
from tests.support.operator_pages import Follow, follow, read_blocks, read_section, run_printed

__all__ = ["follow", "run_printed"]
_PAGE = "running.md"
_SECTION = "Uploads in an object store"
_BUCKET = "claims-files"
_WELL = "ok    storage      writes, reads and removes"
_PUT_OVER = """
mount --bind hosts /etc/hosts
mount --bind "$0" /etc/ssl/certs/ca-certificates.crt
unset SSL_CERT_FILE SSL_CERT_DIR
exec "$@"
"""
_AWAY = "FAULT storage      does not respond"


def read_address() -> str:
    """Return the value that the page exports as DUNWELL_FILES_URL."""
    [block, *_] = read_blocks("On many hosts", _PAGE)
    [address] = re.findall(r"^export DUNWELL_FILES_URL=(\S+)$", block, re.MULTILINE)
    return str(address)


def list_variables() -> list[str]:
    """Return every variable that the page explains."""
    return re.findall(r"`(AWS_[A-Z_]+)`", read_section(_SECTION, _PAGE))


def reach(store: ObjectStore, **changes: str) -> dict[str, str]:
    """Return the settings of an operator by the variables of the page."""
    return {
        "DUNWELL_FILES_URL": read_address(),
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
        "AWS_SESSION_TOKEN": "temporary",
        "AWS_REGION": "eu-central-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
        **changes,
    }


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    with run_object_store(tmp_path / "s3", _BUCKET) as store:
        yield store


def ask_doctor(run: Follow, folder: Path, settings: Mapping[str, str], *around: str) -> str:
    """Return what `dunwell doctor` prints about the storage."""
    asked = partial(run, "dunwell doctor || true", around=around)
    output = asked(DUNWELL_DATA_DIR=folder / "var", **settings)
    [line] = [each for each in output.splitlines() if each[6:].startswith("storage ")]
    return line


def test_the_page_explains_every_variable_of_these_tests(store: ObjectStore) -> None:
    tried = {name for name in reach(store) if name.startswith("AWS_")}
    assert set(list_variables()) == tried


def test_doctor_writes_reads_and_removes_an_object(
    store: ObjectStore, tmp_path: Path, run_printed: Follow
) -> None:
    assert ask_doctor(run_printed, tmp_path, reach(store)) == _WELL
    assert store.list_keys() == []
    log = store.read_log()
    assert "Stored object" in log
    assert "Deleted object" in log


@pytest.mark.parametrize(
    "changes",
    [
        {"AWS_ACCESS_KEY_ID": "SOMEBODY"},
        {"AWS_ALLOW_HTTP": "false"},
        {"DUNWELL_FILES_URL": "s3://no-such-bucket"},
    ],
    ids=["another access key", "no TLS", "no bucket"],
)
def test_doctor_reports_why_the_object_store_cannot_be_used(
    store: ObjectStore, tmp_path: Path, run_printed: Follow, changes: dict[str, str]
) -> None:
    output = ask_doctor(run_printed, tmp_path, reach(store, **changes))
    assert output.startswith(_AWAY)


def test_all_objects_are_stored_below_the_prefix(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing, reading and removing need only the three permissions that the page names."""
    address = f"{read_address()}/dunwell/prefix"
    for name, value in reach(store).items():
        monkeypatch.setenv(name, value)

    async def keep() -> None:
        storage = Storage.open(address)
        await storage.save("1/uploads/a", b"first")
        await storage.save("1/uploads/b", b"second")
        assert await storage.load("1/uploads/a") == b"first"
        assert store.list_keys() == ["dunwell/prefix/1/uploads/a", "dunwell/prefix/1/uploads/b"]
        await storage.remove("1/uploads/a")
        await storage.remove("1/uploads/a")
        with pytest.raises(ContentMissing):
            await storage.load("1/uploads/a")

    asyncio.run(keep())
    assert store.list_keys() == ["dunwell/prefix/1/uploads/b"]


def test_tls_and_virtual_hosted_bucket_names_work(tmp_path: Path, run_printed: Follow) -> None:
    """Uses the endpoint of the page on a machine that resolves its name and trusts its
    authority."""
    [shown] = re.findall(r"`(https://\S+)`", read_section(_SECTION, _PAGE))
    assert shown.startswith(f"https://{HOST}:")
    with run_object_store(tmp_path / "s3", _BUCKET, tls=True) as store:
        (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {HOST} {_BUCKET}.{HOST}\n")
        around = ("unshare", "--mount", "sh", "-c", _PUT_OVER, str(store.authority))
        tried = subprocess.run([*around, "true"], cwd=tmp_path, capture_output=True, check=False)
        if os.getuid() != 0 or tried.returncode:
            pytest.skip("only root can give a command files of its own")
        settings = reach(store, AWS_ALLOW_HTTP="false")
        for host, style in ((HOST, "false"), (f"{_BUCKET}.{HOST}", "true")):
            settings["AWS_ENDPOINT_URL"] = f"https://{host}:{store.port}"
            settings["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = style
            assert ask_doctor(run_printed, tmp_path, settings, *around) == _WELL
        around = (*around[:-1], "/etc/ssl/certs/ca-certificates.crt")
        assert ask_doctor(run_printed, tmp_path, settings, *around).startswith(_AWAY)
