"""The command line: `didact study`, `didact predict` and `didact versions`."""

import sys

from didact.core.errors import MissingExtra, need

__all__ = ["main"]


def main() -> None:
    """Run the command line; without the extra `study`, say in one sentence how to get it."""
    try:
        need("typer", "study")
        need("rich", "study")
    except MissingExtra as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    from didact.cli.app import app

    app()
