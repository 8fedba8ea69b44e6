"""Files are whole or not there."""

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
