"""The system user of the embedded PostgreSQL, which refuses to run as root.

If root starts it, it runs as a system user. If that user cannot access the folders that it needs (a
checkout below /root), Linux lets its processes keep the one capability that permits searching
folders. This module starts no server process.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_SYSTEM_USERS = ("dunwell", "postgres", "pgserver")
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_SECUREBITS = 28
# Keep capabilities when the user changes, and apply them in access(2).
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAPABILITY_VERSION_3 = 0x20080522
# The first one permits reading and searching any folder. The second, for containers that withhold
# the first, also permits writing.
_CAP_DAC_READ_SEARCH = 2
_CAP_DAC_OVERRIDE = 1
_CAP_SETPCAP = 8
_SIGNAL_FOR_FAST_SHUTDOWN = 2


class FolderUnreachable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The server's user cannot access a folder, and no capability can change that."""


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySet(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def get_server_user() -> pwd.struct_passwd:
    """Return the user that runs the server: the current one or, for root, a system user, which is
    created if there is none."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in _SYSTEM_USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    useradd = shutil.which("useradd") or "/usr/sbin/useradd"
    if not Path(useradd).exists():
        return pwd.getpwnam("nobody")
    subprocess.run([useradd, "--system", _SYSTEM_USERS[0]], check=True)  # noqa: S603
    return pwd.getpwnam(_SYSTEM_USERS[0])


def become_user(
    user: pwd.struct_passwd, folders: Iterable[Path], *, ends_with_parent: bool = False
) -> Callable[[], None]:
    """Return the function that a child calls between fork and exec to become `user` with access to
    `folders`.

    With `ends_with_parent`, Linux sends the child a fast shutdown when its parent dies. On other
    systems the next start finds and stops it. Raises FolderUnreachable.
    """
    is_root = os.geteuid() == 0
    capability = None
    if is_root:
        unreachable = [folder for folder in folders if not _is_reachable(folder, user)]
        capability = _find_search_capability(unreachable[0], user) if unreachable else None

    def prepare() -> None:
        if is_root:
            _drop_root(user, capability)
        if ends_with_parent and sys.platform == "linux":
            # After the change of user, which resets this setting.
            _LIBC.prctl(_PR_SET_PDEATHSIG, _SIGNAL_FOR_FAST_SHUTDOWN)

    return prepare


def _is_reachable(folder: Path, user: pwd.struct_passwd) -> bool:
    """Return whether the user may search this folder and every folder above it."""
    for path in (folder, *folder.parents):
        status = path.stat()
        if status.st_uid == user.pw_uid:
            needed = stat.S_IXUSR
        elif status.st_gid == user.pw_gid:
            needed = stat.S_IXGRP
        else:
            needed = stat.S_IXOTH
        if not status.st_mode & needed:
            return False
    return True


def _find_search_capability(unreachable: Path, user: pwd.struct_passwd) -> int:
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text()
        line = next(each for each in status.splitlines() if each.startswith("CapPrm:"))
        permitted = int(line.split()[1], 16)
        has_setpcap = permitted >> _CAP_SETPCAP & 1
        for capability in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE):
            if has_setpcap and permitted >> capability & 1:
                return capability
    raise FolderUnreachable(
        f"As root, the database runs as the user {user.pw_name}, who cannot reach {unreachable}. "
        "Run as another user, or use a database server of your own (DUNWELL_DATABASE_URL)."
    )


def _drop_root(user: pwd.struct_passwd, capability: int | None) -> None:
    if capability is not None:
        _call(_LIBC.prctl, _PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    if capability is not None:
        _keep_capability(capability)


def _keep_capability(capability: int) -> None:
    """Drop every capability but this one, and keep it across exec."""
    bit = 1 << capability
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    sets = (_CapabilitySet * 2)(_CapabilitySet(bit, bit, bit), _CapabilitySet(0, 0, 0))
    _call(_LIBC.capset, ctypes.byref(header), sets)
    _call(_LIBC.prctl, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refuses to change capabilities")
