"""Files that are either whole or not there: write beside, then rename."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from didact.core.errors import InputError
from didact.core.files.left_behind import remove_left_behind


@contextmanager
def beside(*paths: Path) -> Iterator[list[Path]]:
    """Temporary paths next to the wanted ones; all are renamed when the block ends well, and removed when it does not.

    The suffix is kept, because some writers look at it. What a study left behind that was killed here is removed.
    """
    for path in paths:  # drafts, and what the writer of a draft writes beside it
        left = rf"\.{re.escape(path.stem)}-[0-9a-f]{{8}}{re.escape(path.suffix)}"
        remove_left_behind(path.parent, rf"{left}|\.{left}\.[0-9a-f]{{32}}")
    mark = secrets.token_hex(4)
    drafts = [path.with_name(f".{path.stem}-{mark}{path.suffix}") for path in paths]
    try:
        yield drafts
        for draft, path in zip(drafts, paths, strict=True):
            os.replace(draft, path)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def folder(path: Path) -> Path:
    """Make a folder, or say in one sentence why it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder '{path}' cannot be made: {error.strerror or error}.") from None
    return path
