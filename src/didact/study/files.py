"""Files that are either whole or not there: write beside, then rename."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from didact.core.errors import InputError


@contextmanager
def beside(*paths: Path) -> Iterator[list[Path]]:
    """Temporary paths next to the wanted ones; all are renamed when the block ends well, and removed when it does not.

    The suffix is kept, because some writers look at it.
    """
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
