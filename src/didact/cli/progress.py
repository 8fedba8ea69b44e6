"""Progress for a person: a moving bar with the time left on a terminal, plain lines elsewhere."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 2.0


class Steps:
    """Context that shows steps as they begin: call it with (what is being done, steps done, steps in all)."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self.began = self.last = time.monotonic()

    def __enter__(self) -> "Steps":
        if self.console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task("starting", total=None)
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show one step."""
        if self.bar is not None:
            self.bar.update(self.task, description=label, completed=done, total=total)
            return
        now = time.monotonic()
        if done == 0 or now - self.last >= _SECONDS_BETWEEN_LINES:
            self.last = now
            left = f", about {self._left(done, total, now):.0f} s left" if 0 < done < total else ""
            self.console.print(
                f"step {done + 1} of {max(total, done + 1)}: {label}{left}", markup=False, highlight=False
            )

    def _left(self, done: int, total: int, now: float) -> float:
        return (now - self.began) / done * (total - done)
