"""The report: one HTML page with its pictures inside, words first."""

from datetime import datetime
from importlib import resources
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_curve

import didact
from didact import plot
from didact.core.errors import need
from didact.study import words
from didact.study.candidates import NATIVE, SCALED
from didact.study.columns import Column, rare_below
from didact.study.result import StudyResult
from didact.study.validation import codes

_MOST_EFFECTS = 15


def render(result: StudyResult) -> str:
    """The report as a page that needs no other file and no network."""
    jinja = need("jinja2", "study")
    source = resources.files("didact.study").joinpath("report.html.j2").read_text(encoding="utf-8")
    environment = jinja.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined
    )
    return environment.from_string(source).render(
        result=result,
        words=words,
        pictures=pictures(result),
        target_facts=_target_facts(result),
        steps=_steps(result),
        used=[c for c in result.columns if not c.dropped],
        dropped=[c for c in result.columns if c.dropped],
        version=didact.__version__,
        written=datetime.now().strftime("%d %B %Y, %H:%M"),
    )


def pictures(result: StudyResult) -> dict[str, str]:
    """All pictures, each as an address that can stand in an img element."""
    first = result.measures[0]
    found = {
        "target": _target(result),
        "models": plot.dots(
            [trial.name for trial in result.trials],
            [trial.validation[first.key] for trial in result.trials],
            result.best,
            f"{first.label}, one dot per fold ({words.direction(first)})",
        ),
        **_predictions(result),
    }
    if result.importances:
        found["importances"] = _importances(result)
    if result.effects:
        found["effects"] = _effects(result)
    return {name: plot.data_uri(figure) for name, figure in found.items()}


def _target(result: StudyResult) -> Any:
    if not result.task.is_classification:
        return plot.histogram(result.target_values, result.task.target)
    names, counts = np.unique(result.target_values, return_counts=True)
    return plot.class_shares([str(name) for name in names], counts.tolist())


def _predictions(result: StudyResult) -> dict[str, Any]:
    task, held_out = result.task, result.held_out
    if not task.is_classification:
        return {"predicted": plot.predicted_actual(held_out.y, held_out.prediction, task.target)}
    names = [str(name) for name in task.classes]
    truth = codes(held_out.y, task)
    guess = held_out.prediction.argmax(axis=1)
    found = {"confusion": plot.confusion(confusion_matrix(truth, guess, labels=range(len(names))), names)}
    if task.kind == "binary":
        false_positive, true_positive, _ = roc_curve(truth, held_out.prediction[:, 1])
        found["roc"] = plot.roc(false_positive, true_positive, held_out.best["roc_auc"].value, names[1])
    return found


def _importances(result: StudyResult) -> Any:
    shown, first = result.importances[:_MOST_EFFECTS], result.measures[0]
    return plot.bars(
        [importance.name for importance in shown],
        [importance.value for importance in shown],
        f"{'fall' if first.higher else 'growth'} of the {first.label} when the column is shuffled",
        [importance.spread for importance in shown],
    )


def _effects(result: StudyResult) -> Any:
    shown = result.effects[:_MOST_EFFECTS]
    names = [effect.name for effect in shown]
    if result.task.kind == "multiclass":
        values = np.array([effect.values for effect in shown])
        return plot.heat(names, [str(c) for c in result.task.classes], values, "effect on the log-odds")
    unit = {
        "binary": f"effect on the log-odds of “{result.task.classes[-1] if result.task.classes else ''}”",
        "regression": f"effect on {result.task.target}",
        "count": f"effect on {'the logarithm of ' if 'Poisson' in result.best else ''}{result.task.target}",
    }[result.task.kind]
    return plot.bars(names, [effect.values[0] for effect in shown], unit)


def _target_facts(result: StudyResult) -> str:
    y = result.target_values
    if result.task.is_classification:
        names, counts = np.unique(y, return_counts=True)
        most = int(counts.argmax())
        return f"The most frequent class, “{names[most]}”, has {100 * counts[most] / len(y):.0f} % of the rows."
    return f"It runs from {_exact(y.min())} to {_exact(y.max())} and is {words.number(y.mean())} on average."


def _models(result: StudyResult) -> str:
    many = len(result.trials) - 1
    return "The dummy alone was" if not many else f"A dummy and {many} model{'s' if many > 1 else ''} were"


def _exact(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else words.number(value)


def _steps(result: StudyResult) -> list[str]:
    """What was done, in order."""
    rows, first = result.rows, result.measures[0]
    used = [c for c in result.columns if not c.dropped]
    steps = [
        f"{rows['held_out']:,} of {rows['used']:,} rows, drawn at random but alike in {result.task.target}, were set "
        f"aside; everything below was learnt from the other {rows['training']:,} alone.",
    ]
    steps += _preparations(result, used)
    if any(c.kind in ("date", "moment") for c in used):
        steps.append(
            "Dates: split into the day count, the month, the weekday and, where there is a time of day, the hour."
        )
    steps.append(
        f"{_models(result)} compared by {result.settings['folds']}-fold cross-validation, preparation "
        f"included; the best mean {first.label} chose {result.best}, which was then fitted on all training rows."
    )
    return steps


def _preparations(result: StudyResult, used: list[Column]) -> list[str]:
    """What was done with numbers and words, for the models that were compared."""
    gaps = any(c.kind == "number" and c.missing for c in used)
    numbers = any(c.kind == "number" for c in used)
    words = any(c.kind == "words" for c in used)
    kinds = {trial.candidate.preparation for trial in result.trials[1:]} or {SCALED}
    rare = f"levels in fewer than {rare_below(result.rows['training'])} rows were put together"
    steps = []
    if SCALED in kinds:
        filled = "gaps were filled with the median, with a mark that they were gaps, and " if gaps else ""
        parts = [f"{filled}numbers were brought to mean 0 and standard deviation 1"] * numbers
        parts += [
            f"words became one yes/no column per level ({rare}, and a missing word is a level of its own)"
        ] * words
        steps.append(f"For models made of formulas or distances, {'; '.join(parts)}.")
    if NATIVE in kinds:
        left = "numbers were left as they are" + (", gaps included" if gaps else "")
        parts = [left] * numbers + [f"words were read as levels ({rare})"] * words
        steps.append(f"For trees, forests, boosting and naive Bayes, {'; '.join(parts)}.")
    return [step for step in steps if numbers or words]
