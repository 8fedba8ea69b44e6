"""Temporary files of saves that were killed: they go when the next save to the same place finds them."""

import re
import time
from contextlib import suppress
from pathlib import Path

LEFT_SECONDS = 3600  # age of a temporary file from which on its writer is taken for dead


def remove_left_behind(folder: Path, names: str) -> None:
    """Remove the files of a folder whose names match a pattern, if they are an hour old."""
    with suppress(OSError):  # another process may be tidying, too, or the folder is not readable
        for file in folder.iterdir():
            if re.fullmatch(names, file.name) and file.stat().st_mtime < time.time() - LEFT_SECONDS:
                file.unlink()
