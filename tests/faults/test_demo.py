"""`make demo ONCE=1` prints, at its end, no address of a stopped service."""

import re
import subprocess
import sys
from pathlib import Path

from tests.faults.installation import find_free_port, plain_environment

_ROOT = Path(__file__).parents[2]
# The demo takes some 20 seconds on an idle machine.
_TIMEOUT_SECONDS = 240


def test_the_demo_prints_no_links_to_stopped_services_at_its_end(tmp_path: Path) -> None:
    port = find_free_port()
    words = ["--once", "--port", str(port), "--data-dir", str(tmp_path / "demo")]
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo", *words], cwd=_ROOT, env=plain_environment(),
        capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    # The first line is the address at which the demo is ready.
    later_lines = done.stdout.splitlines()[1:]
    assert re.findall(rf"\S*:{port}/\S*", "\n".join(later_lines)) == []
    assert "app key" not in done.stdout
    assert str(tmp_path / "demo") in later_lines[-1]
