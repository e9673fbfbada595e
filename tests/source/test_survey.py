"""Case files, and the directories whose changes matter."""

from __future__ import annotations

import os
from pathlib import Path

from policyd.source import case_files
from policyd.source.survey import is_policy_file, survey_paths


def directories(*roots: Path) -> set[str]:
    found = survey_paths([str(root) for root in roots], is_policy_file).directories
    for path, device, inode in found:
        status = os.stat(path)
        assert (device, inode) == (status.st_dev, status.st_ino)
    return {path for path, *_ in found}


def test_case_files_are_found_beside_policies(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    for name in ("a.yaml", "a_test.yaml", "team/b_test.yml", ".c_test.yaml", "test.yaml"):
        (tmp_path / name).touch()
    found = (tmp_path / "a_test.yaml", tmp_path / "team/b_test.yml")
    assert case_files([tmp_path]) == found
    assert case_files([tmp_path / "team", tmp_path / "a_test.yaml", tmp_path / "a.yaml"]) == found
    assert case_files([tmp_path / "missing"]) == ()


def test_a_case_file_that_cannot_be_read_is_found_all_the_same(tmp_path: Path) -> None:
    broken, pipe = tmp_path / "broken_test.yaml", tmp_path / "pipe_test.yaml"
    broken.symlink_to("nothing")
    os.mkfifo(pipe)
    assert case_files([tmp_path]) == (broken, pipe)
    assert case_files([broken]) == (broken,)


def test_every_directory_that_was_searched_and_the_one_above_matter(tmp_path: Path) -> None:
    root = tmp_path / "policies"
    (root / "team/deep").mkdir(parents=True)
    (root / ".git").mkdir()
    wanted = {str(tmp_path), f"{root}/", f"{root}/team", f"{root}/team/deep"}
    assert directories(root) == wanted


def test_the_directory_behind_a_link_to_a_file_matters(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there/p.yaml").touch()
    (tmp_path / "here/p.yaml").symlink_to("../there/p.yaml")
    (tmp_path / "here/q.yaml").symlink_to("../there/not-yet")
    link = tmp_path / "here/p.yaml"
    assert directories(link) == {str(tmp_path / "here"), str(tmp_path / "there")}
    link.unlink()
    assert str(tmp_path / "there") in directories(tmp_path / "here")


def test_above_a_path_that_is_missing_the_nearest_directory_matters(tmp_path: Path) -> None:
    assert directories(tmp_path / "a/b/c") == {str(tmp_path)}
    (tmp_path / "a").mkdir()
    assert directories(tmp_path / "a/b/c") == {str(tmp_path / "a")}


def test_a_path_with_a_nul_leads_nowhere(tmp_path: Path) -> None:
    assert directories(tmp_path / "a\0b/c") == {str(tmp_path)}
