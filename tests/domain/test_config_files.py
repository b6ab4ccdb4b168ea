"""A setting NAME may be read from the file that NAME_FILE names."""

from pathlib import Path

import pytest

from dunwell.platform.config import InvalidSettings, load_settings


def test_a_setting_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "level").write_text("debug\n")
    environment = {
        "DUNWELL_DATA_DIR": str(tmp_path),
        "DUNWELL_LOG_LEVEL_FILE": str(tmp_path / "level"),
    }
    assert load_settings(environment).log_level == "debug"


def test_a_setting_given_twice_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "level").write_text("debug")
    environment = {
        "DUNWELL_DATA_DIR": str(tmp_path),
        "DUNWELL_LOG_LEVEL": "info",
        "DUNWELL_LOG_LEVEL_FILE": str(tmp_path / "level"),
    }
    with pytest.raises(InvalidSettings, match="are both set; keep one"):
        load_settings(environment)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_SECRET_KEY_FILE": str(absent)}
    with pytest.raises(InvalidSettings) as caught:
        load_settings(environment)
    assert caught.value.faults[0].startswith("DUNWELL_SECRET_KEY_FILE: ")
    assert str(absent) in caught.value.faults[0]


def test_a_data_folder_that_cannot_be_made_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidSettings, match=r"DUNWELL_DATA_DIR: .*cannot be created or read"):
        load_settings({"DUNWELL_DATA_DIR": str(tmp_path / "file")})
