"""The delivery provider `sftp`: letters are uploaded into a folder on a print service's server,
over one connection that is opened when it is needed (asyncssh)."""

import asyncio
import contextlib
import posixpath
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncssh
from asyncssh import SSHClientConnection

from dunwell.accounts.installation.bank_connections import BankServer
from dunwell.accounts.installation.delivery_providers import SftpProvider
from dunwell.adapters.channels.print_service.channel import PrintServiceChannel
from dunwell.contact.sending.batches.letter_folder import PART_SUFFIX, HostKeyRefused, LoginRefused
from dunwell.contact.sending.channel import DeliveryProviderUnusable
from dunwell.platform.resources import Resources

_CONNECT_SECONDS, _ANSWER_SECONDS = 15.0, 25.0
_PORT = 22
# Parallel requests cost asyncssh little, but they use resources of the server.
_FILES_AT_ONCE = 16
# Preferred over asyncssh's own choice: it is one library call, while asyncssh's ChaCha20 is partly
# computed in Python.
_ENCRYPTION = "^aes256-gcm@openssh.com"


class SftpFolder:
    """An `ExchangeFolder` on an SFTP server. It uses a password or a key, as configured; a key is
    in PEM or OpenSSH format, without a passphrase."""

    def __init__(
        self, provider: SftpProvider | BankServer, *, password: bytes | None, key: bytes | None,
        answer_timeout_seconds: float = _ANSWER_SECONDS,
    ) -> None:  # fmt: skip
        """Parse the keys of the connection. Raises ValueError if the key or the host key cannot be
        read."""
        try:
            self._host_key = asyncssh.import_public_key(provider.host_key)
            self._keys = [asyncssh.import_private_key(key)] if key else []
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
            raise ValueError(str(error)) from error
        self._provider = provider
        self._password = password.decode().rstrip("\r\n") if password else None
        self._answer_seconds = answer_timeout_seconds
        self._slots = asyncio.Semaphore(_FILES_AT_ONCE)
        self._open_lock = asyncio.Lock()
        self._connection: SSHClientConnection | None = None
        self._client: asyncssh.SFTPClient | None = None

    async def write(self, name: str, content: bytes) -> None:
        async with self._slots, self._lend_client() as client:
            parent = posixpath.dirname(name)
            if parent and not await client.isdir(self._build_path(parent)):
                await client.mkdir(self._build_path(parent))
            await self._upload_part(client, name, content)
            await client.posix_rename(self._build_path(name + PART_SUFFIX), self._build_path(name))

    async def write_part(self, name: str, content: bytes) -> None:
        async with self._slots, self._lend_client() as client:
            await self._upload_part(client, name, content)

    async def finish_part(self, name: str) -> None:
        async with self._lend_client() as client:
            await client.posix_rename(self._build_path(name + PART_SUFFIX), self._build_path(name))

    async def has(self, name: str) -> bool:
        async with self._lend_client() as client:
            return await client.isfile(self._build_path(name))

    async def has_folder(self, folder: str) -> bool:
        """Return whether this subfolder exists; "" is the exchange folder itself."""
        async with self._lend_client() as client:
            return await client.isdir(self._build_path(folder))

    async def list(self, folder: str = "") -> dict[str, int]:
        try:
            async with self._lend_client() as client:
                entries = await client.readdir(self._build_path(folder))
        except FileNotFoundError:
            if not folder:
                raise
            return {}
        return {
            str(entry.filename): entry.attrs.size or 0
            for entry in entries
            # The server may return any name. Ignore paths and hidden files.
            if entry.attrs.type == asyncssh.FILEXFER_TYPE_REGULAR
            and "/" not in str(entry.filename)
            and not str(entry.filename).startswith(".")
        }

    async def read(self, name: str) -> bytes:
        async with self._lend_client() as client, client.open(self._build_path(name), "rb") as file:
            return await file.read()

    async def move(self, name: str, to: str) -> None:
        async with self._lend_client() as client:
            await client.makedirs(self._build_path(posixpath.dirname(to)), exist_ok=True)
            await client.posix_rename(self._build_path(name), self._build_path(to))

    async def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            async with self._lend_client() as client:
                await client.remove(self._build_path(name))

    async def free_bytes(self) -> int | None:
        async with self._lend_client() as client:
            try:
                volume = await client.statvfs(self._build_path(""))
            except asyncssh.SFTPOpUnsupported:
                return None
            return volume.bavail * volume.frsize

    async def close(self) -> None:
        async with self._open_lock:
            connection, self._connection, self._client = self._connection, None, None
        if connection is not None:
            connection.abort()
            with contextlib.suppress(OSError, asyncssh.Error):
                await connection.wait_closed()

    def _build_path(self, name: str) -> str:
        return posixpath.join(self._provider.folder, name)

    async def _upload_part(self, client: asyncssh.SFTPClient, name: str, content: bytes) -> None:
        async with client.open(self._build_path(name + PART_SUFFIX), "wb") as file:
            await file.write(content)

    @asynccontextmanager
    async def _lend_client(self) -> AsyncIterator[asyncssh.SFTPClient]:
        """Lend the connection. Raises only OSError. A failure of the connection or a timeout closes
        it for all who use it; an error that the server answers does not."""
        client = await self._ensure_open()
        try:
            async with asyncio.timeout(self._answer_seconds):
                yield client
        except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath) as error:
            raise FileNotFoundError(str(error)) from error
        except (asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection) as error:
            self._discard(client)
            raise ConnectionError(str(error)) from error
        except asyncssh.SFTPPermissionDenied as error:
            raise PermissionError("the server does not allow reading or writing there") from error
        except asyncssh.SFTPError as error:
            # A full disk, for example.
            raise OSError(f"the server refuses: {error.code}") from error
        except (OSError, asyncssh.Error) as error:
            self._discard(client)
            raise ConnectionError(type(error).__name__) from error

    def _discard(self, client: asyncssh.SFTPClient) -> None:
        if self._client is client and self._connection is not None:
            self._connection.abort()
            self._connection = self._client = None

    async def _ensure_open(self) -> asyncssh.SFTPClient:
        async with self._open_lock:
            if self._client is not None and not self._is_closed():
                return self._client
            try:
                async with asyncio.timeout(min(_CONNECT_SECONDS, self._answer_seconds)):
                    return await self._open()
            except asyncssh.HostKeyNotVerifiable as error:
                raise HostKeyRefused("the server has another host key") from error
            except asyncssh.PermissionDenied as error:
                raise LoginRefused("the server refuses user, key or password") from error
            except (OSError, asyncssh.Error) as error:
                raise ConnectionError(type(error).__name__) from error

    async def _open(self) -> asyncssh.SFTPClient:
        connection = await self._connect()
        try:
            client = await connection.start_sftp_client()
        except BaseException:
            connection.abort()
            raise
        self._connection, self._client = connection, client
        return client

    def _is_closed(self) -> bool:
        return self._connection is None or self._connection.is_closed()

    async def _connect(self) -> SSHClientConnection:
        host, port = parse_server(self._provider.server)
        return await asyncssh.connect(
            host,
            port,
            config=[],
            username=self._provider.user,
            password=self._password,
            client_keys=self._keys or None,
            agent_path=None,
            known_hosts=([self._host_key], [], []),
            encryption_algs=_ENCRYPTION,
            keepalive_interval=15,
            x509_trusted_certs=None,
            gss_host=None,
        )


def parse_server(server: str) -> tuple[str, int]:
    """Return the host and the port. An IPv6 address is in brackets if it is followed by a port."""
    host, colon, port = server.rpartition(":")
    if colon and port.isdecimal() and (host.endswith("]") or ":" not in host):
        return host.strip("[]"), int(port)
    return server.strip("[]"), _PORT


def open_letter_folder(
    name: str, provider: SftpProvider, secrets: Mapping[str, bytes]
) -> SftpFolder:
    """Return the folder without connecting. Raises DeliveryProviderUnusable if a key cannot be
    read.
    """
    try:
        return SftpFolder(
            provider,
            password=secrets.get(f"deliveryProviders/{name}/passwordFile"),
            key=secrets.get(f"deliveryProviders/{name}/keyFile"),
        )
    except ValueError as error:
        raise DeliveryProviderUnusable(str(error)) from error


class SftpChannel(PrintServiceChannel):
    def __init__(
        self, name: str, provider: SftpProvider, secrets: Mapping[str, bytes], resources: Resources
    ) -> None:
        """`secrets` are those of the installation file, by name. Raises
        DeliveryProviderUnusable.
        """
        letter_folder = open_letter_folder(name, provider, secrets)
        super().__init__(name, provider, letter_folder, resources)
