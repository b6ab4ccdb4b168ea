"""The running build is shown as a metric, with its commit if it is known."""

from dunwell.platform.metrics import REGISTRY, parse_commit, set_build_info


def _list_builds() -> list[dict[str, str]]:
    names = {"dunwell_build_info"}
    return [
        sample.labels
        for metric in REGISTRY.restricted_registry(names).collect()
        for sample in metric.samples
    ]


def test_the_version_and_the_named_commit_are_shown() -> None:
    set_build_info("3bca4f1")
    [build] = [each for each in _list_builds() if each["commit"] == "3bca4f1"]
    assert build["version"] == "0.1.0"
    assert build["python"].startswith("3.")


def test_an_unknown_commit_is_shown_as_unknown() -> None:
    set_build_info(None)
    assert "unknown" in [each["commit"] for each in _list_builds()]


def test_the_commit_is_read_from_pips_installation_record() -> None:
    noted = '{"url": "https://git.example/x", "vcs_info": {"vcs": "git", "commit_id": "abc1234"}}'
    assert parse_commit(noted) == "abc1234"
    assert parse_commit('{"url": "file:///x", "dir_info": {"editable": true}}') is None
    assert parse_commit(None) is None
