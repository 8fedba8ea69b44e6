"""Files of compiled code: one entry each, with its full key and a checksum that is looked at before anything else.

A file is MAGIC, the SHA-256 of all that follows, the length of the key (4 bytes), the key, and the compressed data.
The data are a pickle: they are handed out only if the checksum is right and the key is the one that was asked for, so
a damaged, truncated or exchanged file is as good as none. A file appears at once and whole, by a rename, and its name
depends on the key alone: two processes that write at once leave one of two equal entries.
"""

import hashlib
import os
import uuid
import zlib
from contextlib import suppress
from pathlib import Path

MAGIC = b"didact compiled 1\n"
ENDING = ".code"
_DIGEST = 32


def name_of(function: str, key: str) -> str:
    """The name of the file of an entry."""
    plain = "".join(c if c.isalnum() or c in "._" else "-" for c in function)[-60:]
    return f"{plain}-{hashlib.sha256(key.encode()).hexdigest()[:24]}{ENDING}"


def write(file: Path, key: str, data: bytes) -> None:
    """Write an entry in one step."""
    words = key.encode()
    body = len(words).to_bytes(4, "little") + words + zlib.compress(data, 4)
    part = file.with_name(f"{file.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        part.write_bytes(MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(part, file)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def read(file: Path, key: str) -> bytes | None:
    """The data of an entry; None if there is no such file, or it is damaged or has another key."""
    found = _open(file)
    return zlib.decompress(found[1]) if found and found[0] == key else None


def key_of(file: Path) -> str | None:
    """The key of an entry; None if it is damaged."""
    found = _open(file)
    return found[0] if found else None


def _open(file: Path) -> tuple[str, bytes] | None:
    try:
        content = file.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + _DIGEST
    digest, body = content[len(MAGIC) : start], content[start:]
    if not content.startswith(MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    length = 4 + int.from_bytes(body[:4], "little")
    return body[4:length].decode(), body[length:]
