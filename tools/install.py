"""Install the packages of lock files, which are verified by their hashes, and print the progress.

The Makefile runs it with the new environment's Python: `python tools/install.py A.lock B.lock`.
"""

import subprocess
import sys

_PIP = [
    "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off", "--no-color",
    "--require-hashes",
]  # fmt: skip


def main(locks: list[str]) -> int:
    """Return pip's exit code. pip prints its own error messages."""
    say(f"{' and '.join(locks)}: this takes a minute or two")
    command = [sys.executable, *_PIP, *(word for lock in locks for word in ("-r", lock))]
    begun = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            if line.startswith("Collecting "):
                begun += 1
                say(f"  {begun:>3}  {line.split()[1]}")
            elif line.startswith("Installing collected packages"):
                say(f"  putting {begun} packages into place")
    return pip.returncode


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
