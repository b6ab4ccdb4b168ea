"""The child that parses strangers' files can do nothing else, whatever code a file makes it run."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dunwell.files.inspection import Inspector
from dunwell.kit.confinement import find_confinement
from tests.support.children import end_all, find_children
from tests.support.confined import TRIES
from tests.support.files import a_pdf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")


@pytest.mark.parametrize("name", TRIES)
def test_code_inside_the_child_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.confined", name],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("refused: "), done


async def test_the_parser_is_shut_in() -> None:
    await end_all("inspection_child")
    inspector = Inspector(1)
    try:
        assert await inspector.inspect(a_pdf()) == "application/pdf"
        (child,) = find_children("inspection_child")
        status = _read_status(child.pid)
        limits = {kind: child.rlimit(kind)[0] for kind in _LIMITED}
    finally:
        await inspector.close()
    assert "NoNewPrivs:\t1" in status
    if find_confinement().has_seccomp:
        assert "Seccomp:\t2" in status
    assert all(0 <= limit < 1 << 30 for limit in limits.values()), limits
    assert limits[psutil.RLIMIT_NPROC] == 0


def _read_status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


_LIMITED = (
    psutil.RLIMIT_AS,
    psutil.RLIMIT_CPU,
    psutil.RLIMIT_FSIZE,
    psutil.RLIMIT_NOFILE,
    psutil.RLIMIT_NPROC,
)
