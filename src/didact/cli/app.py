"""The commands. Each ends with files that are whole, or with one sentence on what is wrong and exit code 2."""

import functools
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import didact
from didact.cli.progress import Steps
from didact.core.errors import DidactError

app = typer.Typer(
    name="didact",
    help="Classical machine learning: study a table, use the model.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class TaskName(StrEnum):
    """What can be asked of a target."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    COUNT = "count"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"didact {didact.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Classical machine learning: study a table, use the model."""


def _in_one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Turn expected errors into one line and exit code 2, and Ctrl-C into one line and exit code 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except DidactError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None
        except OSError as error:
            typer.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}.", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("Interrupted; no file was left half-written.", err=True)
            raise typer.Exit(130) from None

    return wrapped


@app.command()
@_in_one_sentence
def study(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or 'penguins', a table that comes with didact.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option(help="Folder for the report, the scores and the model.")] = Path("didact-study"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")] = 0,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    task: Annotated[TaskName, typer.Option(help="What is asked of the target; found by itself.")] = TaskName.AUTO,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds that it may take; models that need longer are left out.")
    ] = None,
) -> None:
    """Study a table: clean it, compare models, and report how well the target can be predicted."""
    console = Console()
    with Steps(console) as steps:
        steps("loading", 0, 1)
        from didact.study import Study

        result = Study(target, seed, folds, task.value, out, time_limit, steps).run(data)
    _show(console, result)


@app.command()
@_in_one_sentence
def predict(
    model: Annotated[Path, typer.Argument(help="A model.didact that a study has left.")],
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file with the same columns.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
) -> None:
    """Apply a model to a table: one line of predictions for each of its rows, in the same order."""
    from didact.study.predicting import predict_file

    rows = predict_file(model, data, out)
    typer.echo(f"Wrote {rows:,} predictions to {out}.")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False)
@_in_one_sentence
def warm(context: typer.Context) -> None:
    """Compile ahead, on all cores, what the first fits would compile: all chapters, or those that are named."""
    from didact.core.jit.__main__ import main

    main(context.args)


@app.command()
def versions() -> None:
    """Show the versions of didact and of all that it uses: what a report of a problem should begin with."""
    didact.show_versions()


def _show(console: Console, result: Any) -> None:
    """The findings in a few lines."""
    from didact.study import words

    for sentence in words.answer(result):
        console.print(sentence, markup=False, highlight=False)
    console.print(_models_table(result))
    console.print(_held_out_table(result))
    if result.skipped:
        names = ", ".join(skipped.name for skipped in result.skipped)
        console.print(f"Not compared (the report says why): {names}.", markup=False, highlight=False)
    for note in result.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    folder = result.report_path.parent
    console.print(f"Wrote {folder}/report.html, scores.json and model.didact.", markup=False, highlight=False)


def _models_table(result: Any) -> Table:
    """The cross-validation of each model: the first measure, and the one that a person reads most easily."""
    from didact.study import words

    shown = list(dict.fromkeys([result.measures[0], words.headline(result)]))
    table = Table("models compared", *(f"{m.label} ({words.direction(m)})" for m in shown))
    for trial in result.trials:
        cells = [words.number(trial.mean(m.key), m.key) for m in shown]
        best = trial.name == result.best
        table.add_row(f"→ {trial.name}" if best else trial.name, *cells, style="bold" if best else None)
    return table


def _held_out_table(result: Any) -> Table:
    from didact.study import words

    table = Table("held-out rows", result.best, "95 % interval", "dummy")
    for measure in result.measures:
        mine, dummy = result.held_out.best[measure.key], result.held_out.dummy[measure.key]
        table.add_row(
            measure.label,
            words.number(mine.value, measure.key),
            words.spread(mine, measure.key),
            words.number(dummy.value, measure.key),
        )
    return table
