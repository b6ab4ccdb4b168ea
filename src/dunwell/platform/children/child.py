"""The child's side of the pool: confine the process, then answer requests.

A child confines itself before it reads untrusted input. From then on it cannot open a file or a
socket, start a process or raise a limit, even if the input makes it run other code. Linux enforces
this twice: Landlock takes away the whole file system (landlock(7)), and a seccomp filter permits
only the system calls that a parser needs (seccomp(2)). No maintained Python library offers either.
With kernels that lack one of the two, the other one still applies. The limits on memory and
processor time apply on every system.

The child reads a length and a request from standard input and writes a length and an answer to
standard output, until the parent closes the pipe. All limits are hard limits, so that untrusted
code cannot raise them. A hard limit on processor time cannot be renewed for each request either. A
child that has used half of it exits after its answer, and the parent starts another one.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import BinaryIO

from dunwell.platform.children.child_pool import LENGTH

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_NO_NEW_PRIVS = 38
# Install the filter in all threads of the process at once (SECCOMP_FILTER_FLAG_TSYNC), because the
# layout engine of letters has its own threads.
_SECCOMP_SET_MODE_FILTER, _SECCOMP_ALL_THREADS = 1, 1
_SECCOMP_GET_ACTION_AVAIL = 2
_ALLOW, _DENY = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM
# These numbers are the same on every architecture.
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_LANDLOCK_VERSION_FLAG = 1
# The number of file access rights that each version of Landlock knows. From version 4 on it also
# knows rights for TCP.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS = 0b11
# From version 6 on: no signals to other processes, and no abstract sockets outside.
_SCOPES = 0b11
# BPF instructions: load a word, jump if equal, jump if at least, return (linux/bpf_common.h).
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32_BIT = 0x40000000
# The system calls that a parser and the Python runtime need, with their numbers on x86_64 and
# aarch64.
_CALLS = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "readv": (19, 65), "writev": (20, 66), "sched_yield": (24, 124), "mremap": (25, 216),
    "madvise": (28, 233), "getpid": (39, 172), "exit": (60, 93), "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "sigaltstack": (131, 132), "gettid": (186, 178), "futex": (202, 98),
    "sched_getaffinity": (204, 123), "restart_syscall": (219, 128),
    "getcwd": (79, 17), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115),
    "exit_group": (231, 94), "getrandom": (318, 278), "rseq": (334, 293),
}  # fmt: skip
# prlimit64 is permitted only to read the limits of this process. It is refused with a new limit as
# its third argument or with another process id. setrlimit is not permitted at all.
_LIMITS_CALL = (302, 261)
_SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
_CAPSET_CALL = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
# The audit number of the architecture, and its column in _CALLS.
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the kernel supports. `landlock` is its version, 0 if there is none."""

    landlock: int
    has_seccomp: bool


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def get_confinement() -> Confinement:
    if sys.platform != "linux":
        return Confinement(0, has_seccomp=False)
    version = _LIBC.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION_FLAG)
    return Confinement(max(version, 0), _has_seccomp())


def drop_file_access() -> None:
    """Remove all access to the file system and the network from this thread, as far as the kernel
    supports it.

    This also drops root's capabilities, with which a process could raise its hard limits.
    """
    if sys.platform != "linux":
        return
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _build_confinement_error("no_new_privs")
    _drop_capabilities()
    confinement = get_confinement()
    if confinement.landlock:
        _deny_file_access(confinement.landlock)


def filter_calls() -> None:
    """Permanently refuse all system calls that are not listed, in all threads, if the kernel has
    seccomp.

    Call this last, because limits cannot be changed afterwards.
    """
    if get_confinement().has_seccomp:
        _install_filter()


def _drop_capabilities() -> None:
    number = _CAPSET_CALL.get(platform.machine())
    if number is None:
        return
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    nothing = bytes(24)  # effective, permitted and inheritable, 64 bits each
    if _LIBC.syscall(number, header, nothing) != 0:
        raise _build_confinement_error("capabilities")


def _deny_file_access(version: int) -> None:
    """Handle every right and grant none, so that no access remains."""
    files = (1 << _FILE_RIGHTS.get(version, _FILE_RIGHTS[5])) - 1
    rights = struct.pack("=Q", files)
    if version >= 4:
        rights += struct.pack("=Q", _TCP_RIGHTS)
    if version >= 6:
        rights += struct.pack("=Q", _SCOPES)
    ruleset = _LIBC.syscall(_LANDLOCK_CREATE, rights, len(rights), 0)
    if ruleset < 0 or _LIBC.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
        raise _build_confinement_error("Landlock")
    os.close(ruleset)


def _has_seccomp() -> bool:
    if platform.machine() not in _ARCHITECTURES:
        return False
    number = _SECCOMP_CALL[platform.machine()]
    action = ctypes.c_uint32(_DENY & 0xFFFF0000)
    return bool(_LIBC.syscall(number, _SECCOMP_GET_ACTION_AVAIL, 0, ctypes.byref(action)) == 0)


def _install_filter() -> None:
    program = _build_filter(*_ARCHITECTURES[platform.machine()])
    filled = ctypes.byref(_BpfProgram(len(program) // 8, program))
    number = _SECCOMP_CALL[platform.machine()]
    if _LIBC.syscall(number, _SECCOMP_SET_MODE_FILTER, _SECCOMP_ALL_THREADS, filled) != 0:
        raise _build_confinement_error("seccomp")


def _build_filter(audit_number: int, column: int) -> bytes:
    """Build the filter. It also refuses the calls of other architectures and of x32. A jump has two
    distances, in instructions: one if the comparison is true, and one if it is false."""
    numbers = [each[column] for each in _CALLS.values()]
    count = len(numbers)
    program = [
        (_LOAD, 0, 0, 4),  # the audit number of the architecture
        (_JUMP_EQUAL, 0, count + 9, audit_number),
        (_LOAD, 0, 0, 0),  # the number of the system call
        (_JUMP_AT_LEAST, count + 7, 0, _X32_BIT),
        *((_JUMP_EQUAL, count + 7 - place, 0, number) for place, number in enumerate(numbers)),
        (_JUMP_EQUAL, 0, 6, _LIMITS_CALL[column]),
        (_LOAD, 0, 0, 16),  # the first argument, the process id: 0 is this process
        (_JUMP_EQUAL, 0, 4, 0),
        (_LOAD, 0, 0, 32),  # the third argument in two halves, the new limit: 0 is none
        (_JUMP_EQUAL, 0, 2, 0),
        (_LOAD, 0, 0, 36),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *each) for each in program)


def _build_confinement_error(what: str) -> OSError:
    return OSError(ctypes.get_errno(), f"the kernel does not confine this process ({what})")


def confine_process(memory_bytes: int, cpu_seconds: int) -> None:
    """Limit and confine this process before it reads untrusted input.

    Everything that it needs must already be imported and open. A request may use at least
    `cpu_seconds` of processor time and at most twice as much.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CPU, ceil(_measure_cpu()) + 2 * cpu_seconds)
    lowest_free = _find_lowest_free_descriptor()
    drop_file_access()
    # Without a free descriptor number, no file, pipe or socket can be opened.
    _limit(resource.RLIMIT_NOFILE, lowest_free)
    filter_calls()


def serve(answer: Callable[[bytes], bytes], cpu_seconds: int) -> None:
    """Answer requests until the parent closes the pipe, or until less than `cpu_seconds` would be
    left for the next request."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    limit, _ = resource.getrlimit(resource.RLIMIT_CPU)
    while (request := _read(requests)) is not None:
        response = answer(request)
        answers.write(LENGTH.pack(len(response)) + response)
        answers.flush()
        if limit != resource.RLIM_INFINITY and _measure_cpu() + cpu_seconds > limit:
            return


def _measure_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _find_lowest_free_descriptor() -> int:
    lowest_free = os.dup(0)
    os.close(lowest_free)
    return lowest_free


def _limit(kind: int, value: int) -> None:
    """Set the soft and the hard limit, unless the current hard limit is lower."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # Some systems do not know every limit.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    try:
        (size,) = LENGTH.unpack(head)
    except struct.error:
        return None
    return stream.read(size)
