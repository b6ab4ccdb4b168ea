"""`dunwell up`: its first line, its clean end, and the protection of its data folder."""

import base64
import http.client
import os
import re
import signal
import socket
import subprocess
from importlib.metadata import version

import httpx
import psutil

from tests.faults.installation import (
    TIMEOUT_SECONDS,
    Installation,
    find_free_port,
    wait_until,
)


def test_up_reports_ready_once_stops_cleanly_and_keeps_its_data(
    bare_installation: Installation,
) -> None:
    keys = set()
    for number in (signal.SIGTERM, signal.SIGINT):
        up = bare_installation.start("--workers", "2")
        assert up.stdout is not None
        assert up.stdout.readline() == f"ready http://127.0.0.1:{bare_installation.port}\n"
        words = [word for child in psutil.Process(up.pid).children() for word in child.cmdline()]
        assert (words.count("web"), words.count("worker")) == (2, 1)
        keys.add((bare_installation.data_dir / "secret.key").read_text())
        up.send_signal(number)
        rest, _ = up.communicate(timeout=TIMEOUT_SECONDS)
        assert up.returncode == 0
        # Some of the addresses may have been read together with the first line, or were not printed
        # yet.
        printed = [line.split()[0] for line in rest.splitlines()]
        expected = ["portal", "docs", "outbox", "sign"]
        assert printed in [expected[:stop][start:] for start in range(5) for stop in range(5)]
        assert '"exit_code": -9' not in bare_installation.read_log()
        assert bare_installation.find_processes() == []
    assert len(keys) == 1


def test_up_prints_addresses_that_answer_and_how_to_sign_in(
    bare_installation: Installation,
) -> None:
    up = bare_installation.start()
    assert up.stdout is not None
    origin = f"http://127.0.0.1:{bare_installation.port}"
    assert up.stdout.readline() == f"ready {origin}\n"
    printed = dict(up.stdout.readline().split(maxsplit=1) for _ in range(3))
    assert {name: address.strip() for name, address in printed.items()} == {
        name: f"{origin}/{name}" for name in ("portal", "docs", "outbox")
    }
    for address in printed.values():
        answer = httpx.get(address.strip(), follow_redirects=True, headers={"Accept": "text/html"})
        assert answer.status_code == 200
    # Without any user, a development installation prints an invitation for the first administrator.
    found = re.fullmatch(
        r"sign in (\S+/portal/invitation/[\w-]{43}) \(.*password there\)\n", up.stdout.readline()
    )
    assert found
    assert httpx.get(found[1], follow_redirects=True).status_code == 200


def test_the_data_folder_is_closed_to_other_users(
    installation: Installation,
) -> None:
    old = installation.data_dir / "outbox" / "1" / "EMAIL" / "old.eml"
    before = os.umask(0)
    try:
        old.parent.mkdir(parents=True)
        old.write_bytes(b"mail")
        installation.start_ready()
    finally:
        os.umask(before)
    kept = [path for path in installation.data_dir.rglob("*") if not path.is_symlink()]
    assert old in kept
    # Sockets are protected by their folder, which is closed.
    reachable = [path for path in kept if path.lstat().st_mode & 0o077 and not path.is_socket()]
    assert reachable == []


def test_a_request_in_progress_is_answered_before_up_stops(installation: Installation) -> None:
    up = installation.start_ready()
    connection = http.client.HTTPConnection("127.0.0.1", installation.port, timeout=10)
    body = b"grant_type=client_credentials&client_id=nobody&client_secret=none"
    connection.putrequest("POST", "/api/token")
    connection.putheader("Content-Type", "application/x-www-form-urlencoded")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:10])
    up.terminate()
    wait_until(lambda: _is_refused(installation.port), "nobody else is let in")
    connection.send(body[10:])
    assert connection.getresponse().status == 401
    connection.close()
    up.wait(TIMEOUT_SECONDS)
    assert installation.find_processes() == []


def _is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_second_up_on_the_same_folder_is_refused(
    installation: Installation,
) -> None:
    up = installation.start_ready()
    command = [*up.cmdline()[:-1], str(installation.port + 1)]
    second = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr.startswith("dunwell: ")
    assert f"process {up.pid} (dunwell up)" in second.stderr
    assert second.stderr.count("\n") == 1
    assert installation.is_ready()


def test_a_port_in_use_is_reported_without_a_traceback(installation: Installation) -> None:
    with socket.create_server(("127.0.0.1", installation.port)):
        up = installation.start()
        assert up.wait(TIMEOUT_SECONDS) == 1
    assert "cannot listen on 127.0.0.1" in installation.read_log()
    assert "Traceback" not in installation.read_log()
    assert installation.find_processes() == []


def test_another_secret_key_is_refused_without_a_traceback(installation: Installation) -> None:
    installation.start_ready()
    assert installation.stop() == 0
    (installation.data_dir / "secret.key").write_text(base64.b64encode(os.urandom(32)).decode())
    up = installation.start()
    assert up.wait(TIMEOUT_SECONDS) == 1
    log = installation.read_log()
    assert "dunwell: Version 1 of the secret key is not the key with which" in log
    assert "Traceback" not in log
    assert installation.find_processes() == []


def test_the_metrics_of_all_processes_are_served_at_one_address(installation: Installation) -> None:
    bind = f"127.0.0.1:{find_free_port()}"
    installation.environment["DUNWELL_OPERATOR_BIND"] = bind
    up = installation.start_ready("--workers", "2")
    for _ in range(3):
        httpx.post(f"http://127.0.0.1:{installation.port}/api/token")

    wait_until(
        lambda: "dunwell_worker_rounds_failed_total{" in _read_figures(bind), "the worker's figures"
    )

    counted = 'dunwell_api_requests_total{operation="obtainToken",status="401"} 3.0'
    assert all(counted in _read_figures(bind) for _ in range(10))
    # Two web processes and a worker have pools of ten connections each; a killed process does not
    # count.
    most = "dunwell_database_connections_limit 30.0"
    assert most in _read_figures(bind)
    web = installation.find_child(up, "web")
    assert web is not None
    web.kill()
    wait_until(lambda: not web.is_running(), "the end of a web process")
    wait_until(lambda: most in _read_figures(bind), "three pools again")
    assert f'version="{version("dunwell")}"' in _read_figures(bind)
    assert installation.stop() == 0
    assert _is_refused(int(bind.rpartition(":")[2]))


def _read_figures(bind: str) -> str:
    return httpx.get(f"http://{bind}/metrics", timeout=30).text
