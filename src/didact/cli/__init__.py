"""The command line: `didact study`, `didact predict`, `didact warm` and `didact versions`."""

import sys

from didact.core.errors import MissingExtra, need

__all__ = ["main"]


def main() -> None:
    """Run the command line; without the extra `study`, which `didact warm` does not need, say how to get it."""
    if sys.argv[1:2] == ["warm"]:
        from didact.core.jit.__main__ import main as warm

        return warm(sys.argv[2:])
    try:
        need("typer", "study")
        need("rich", "study")
    except MissingExtra as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    from didact.cli.app import app

    return app()
