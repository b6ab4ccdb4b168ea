"""pgBouncer in transaction mode in front of a test server. It shares few server connections among
many clients, so that successive transactions rarely use the same one."""

import asyncio
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import asyncpg

from dunwell.platform.embedded.postgres import DATABASE_NAME, EmbeddedPostgres
from dunwell.platform.embedded.postgres_user import become_user, get_server_user
from tests.support.tools import find_tool

_TIMEOUT_SECONDS = 20
_SETTINGS = {
    "listen_addr": "127.0.0.1", "unix_socket_dir": "", "auth_type": "any",
    "pool_mode": "transaction", "max_client_conn": "500", "server_round_robin": "1",
    "admin_users": "postgres",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pooler:
    """`url` is the address of the server's database through the pooler; `unnamed` is the same
    without the statement that there is a pooler."""

    unnamed: str

    @property
    def url(self) -> str:
        return f"{self.unnamed}?pooler=transaction"

    def url_of(self, database: str) -> str:
        head, _, _ = self.unnamed.rpartition("/")
        return f"{head}/{quote(database)}?pooler=transaction"


@dataclass(frozen=True, slots=True)
class PooledPostgres(EmbeddedPostgres):
    """A server that is reached through its pooler."""

    pooled_url: str = ""

    @property
    def url(self) -> str:
        return self.pooled_url


@contextmanager
def a_pooler(
    server: EmbeddedPostgres, folder: Path, size: int = 8, *, user: str = "postgres",
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Pooler]:  # fmt: skip
    """Run a pooler. `size` is the number of its server connections, `user` their role. `settings`
    are added to the usual settings of pgBouncer or replace them."""
    program = find_tool("pgbouncer")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = folder / "pgbouncer.ini"
    given = {**_SETTINGS, "listen_port": port, "default_pool_size": size, **settings}
    lines = [f"{name} = {value}" for name, value in given.items()]
    databases = ["[databases]", f"* = host={server.socket_folder} user={user}", "[pgbouncer]"]
    file.write_text("\n".join([*databases, *lines, ""]))
    file.chmod(0o644)
    with (folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(
            [program, str(file)], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            # The function takes no lock that another thread may hold.
            preexec_fn=become_user(get_server_user(), [folder], ends_with_parent=True),  # noqa: PLW1509
        )  # fmt: skip
    try:
        unnamed = f"postgresql://postgres@127.0.0.1:{port}/{DATABASE_NAME}"
        asyncio.run(_wait_for(unnamed, process))
        yield Pooler(unnamed)
    finally:
        process.kill()
        process.wait()


async def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        assert process.poll() is None, "pgBouncer ended; see pgbouncer.log"
        try:
            connection = await asyncpg.connect(url, statement_cache_size=0)
        except OSError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        else:
            await connection.close()
            return
