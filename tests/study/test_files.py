"""Files are whole or not there."""

import os

import pytest

from didact.core.errors import InputError
from didact.study.files import beside, folder


def test_all_files_appear_together_and_nothing_else(tmp_path):
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("old")
    with beside(a, b) as (draft_a, draft_b):
        draft_a.write_text("new")
        draft_b.write_text("new")
        assert a.read_text() == "old"
        assert draft_a.suffix == ".txt"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "new", "b.txt": "new"}


def test_what_killed_studies_left_behind_is_removed_in_time(tmp_path):
    names = [
        ".model-0123abcd.didact",
        f"..model-0123abcd.didact.{'0a' * 16}",
        ".model-new.didact",
        ".else-0123abcd.didact",
    ]
    running = ".model-89abcdef.didact"
    for name in (*names, running):
        (tmp_path / name).write_text("half")
    for name in names:
        os.utime(tmp_path / name, (0, 0))
    with beside(tmp_path / "model.didact") as (draft,):
        draft.write_text("new")
    assert {path.name for path in tmp_path.iterdir()} == {"model.didact", running, *names[2:]}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path, error):
    a = tmp_path / "a.txt"
    a.write_text("old")
    with pytest.raises(error), beside(a) as (draft,):
        draft.write_text("ne")
        raise error
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_a_folder_that_cannot_be_made_gets_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        folder(tmp_path / "file" / "below")
