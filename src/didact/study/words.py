"""What was found, in sentences: the answer, what was done, how sure it is, and what to do next."""

import math

from didact.study.measures import Interval, Measure
from didact.study.result import StudyResult

_SHARES = {"accuracy", "balanced_accuracy"}


def number(value: float, key: str = "") -> str:
    """A value of a measure for a person: shares in per cent, the rest with three or four digits that matter."""
    if not math.isfinite(value):
        return "–"
    if key in _SHARES:
        return f"{100 * value:.1f} %"
    if key in ("r2", "roc_auc", "log_loss", "poisson_deviance"):
        return f"{round(value, 3) + 0.0:.3f}"  # + 0.0 takes the sign off a zero
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".")


def deviation(mean: float, standard: float, key: str = "") -> str:
    """A standard deviation, with as many decimals as its mean is written with."""
    text = number(mean, key)
    if not math.isfinite(standard) or key in _SHARES:
        return number(standard, key)
    return f"{standard:,.{len(text.partition('.')[2])}f}"


def spread(interval: Interval, key: str) -> str:
    """An interval as two ends."""
    return f"{number(interval.low, key)} to {number(interval.high, key)}"


def direction(measure: Measure) -> str:
    """Which way a measure is good."""
    return "larger is better" if measure.higher else "smaller is better"


def headline(result: StudyResult) -> Measure:
    """The measure that a person reads most easily."""
    key = "accuracy" if result.task.is_classification else "mae"
    return next(measure for measure in result.measures if measure.key == key)


def skill(result: StudyResult) -> float:
    """The share of the dummy's loss that the model takes away on the held-out rows (of squared loss for numbers)."""
    first = result.measures[0]
    mine, dummy = result.held_out.best[first.key].value, result.held_out.dummy[first.key].value
    ratio = mine / dummy if dummy > 0 else 1.0
    return 1 - (ratio**2 if first.key == "rmse" else ratio)


def answer(result: StudyResult) -> list[str]:
    """The answer in two or three sentences."""
    measure = headline(result)
    mine, dummy = result.held_out.best[measure.key], result.held_out.dummy[measure.key]
    if result.task.is_classification:
        first = (
            f"On {result.rows['held_out']:,} rows that it had never seen, the best model ({result.best}) named "
            f"the right class of “{result.task.target}” for {number(mine.value, measure.key)} of them "
            f"(95 % interval {spread(mine, measure.key)})."
        )
        second = f"A dummy that ignores the columns is right for {number(dummy.value, measure.key)}."
    else:
        first = (
            f"On {result.rows['held_out']:,} rows that it had never seen, the best model ({result.best}) missed "
            f"“{result.task.target}” by {number(mine.value)} on average (95 % interval {spread(mine, measure.key)})."
        )
        second = f"A dummy that always says the mean misses by {number(dummy.value)}."
    return [first, second, verdict(result)]


def verdict(result: StudyResult) -> str:
    """Whether the columns help at all."""
    gain = result.held_out.gain[result.measures[0].key]
    if result.best == result.dummy_trial.name or gain.value <= 0:
        return "With these columns and models, the target could not be predicted better than by the dummy."
    if gain.low > 0:
        return "The columns do tell something about the target: the gain over the dummy is more than chance."
    return "The gain over the dummy is small enough to be chance: more rows are needed to tell."


def certainty(result: StudyResult) -> list[str]:
    """How sure the scores are."""
    first = result.measures[0]
    mine, gain = result.held_out.best[first.key], result.held_out.gain[first.key]
    sentences = [
        f"The held-out rows were set aside before anything was learnt and looked at once. If other rows of the same "
        f"kind had been held out, the {first.label} would in 95 of 100 cases lie between about "
        f"{number(mine.low, first.key)} and {number(mine.high, first.key)} (bootstrap over the held-out rows).",
        f"On the same rows, the gain over the dummy in {first.label} is {number(gain.value, first.key)} "
        f"(95 % interval {spread(gain, first.key)}; above zero is better).",
    ]
    best = result.best_trial
    sentences.append(
        f"In cross-validation the {first.label} was {number(best.mean(first.key), first.key)} on rows left out and "
        f"{number(_mean(best.training[first.key]), first.key)} on rows that the model was fitted to. {_gap(result)}"
    )
    if rivals := _rivals(result):
        sentences.append(
            f"{' and '.join(rivals)} came within one standard error of the best: their order is not certain."
        )
    return sentences


def next_steps(result: StudyResult) -> list[str]:
    """What to do next, the most useful first."""
    steps: list[str] = []
    gained = skill(result)
    if gained > 0.98:
        steps.append(
            "The scores are almost perfect. Check that no column is a consequence of the target or written down "
            "after it; such a column will not be there when the model is used."
        )
    if _lost(result) > 0.3:
        steps.append(
            "The model does clearly worse on new rows than on its own: more rows, fewer columns or a stronger penalty "
            "should help more than a richer model."
        )
    elif gained < 0.5:
        steps.append(
            "Much of the target is left unexplained, on new rows and old ones alike: look for columns that say more, "
            "or try models that can bend (interactions, curves, trees)."
        )
    if result.rows["held_out"] < 200:
        steps.append(
            f"Only {result.rows['held_out']} rows were held out, so the intervals are wide: collect more rows before "
            "deciding anything that depends on the exact score."
        )
    gaps = [c.name for c in result.columns if not c.dropped and c.missing > 0.2]
    if gaps:
        steps.append(f"Much is missing in {listed(gaps)}: find out why, since a gap may itself be a sign.")
    if any(c.kind in ("date", "moment") and not c.dropped for c in result.columns):
        steps.append(
            "Rows were split at random. If the model is to predict the future, check it on the latest rows instead."
        )
    steps.append("Check that rows are independent: several rows of one person, place or day make scores too good.")
    return steps


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _lost(result: StudyResult) -> float:
    """The share of the gain on fitted rows that is lost on rows left out."""
    key = result.measures[0].key
    fitted = _mean(result.best_trial.training[key])
    gain = result.dummy_trial.mean(key) - fitted
    return (result.best_trial.mean(key) - fitted) / gain if gain > 0 else 0.0


def _gap(result: StudyResult) -> str:
    if result.best == result.dummy_trial.name:
        return ""
    if _lost(result) > 0.3:
        return "That is a wide gap: part of what it learnt holds only for the rows it learnt from."
    return "The two are close, so the model has not merely learnt its rows by heart."


def _rivals(result: StudyResult) -> list[str]:
    first, best = result.measures[0], result.best_trial
    margin = best.spread(first.key) / math.sqrt(len(best.validation[first.key]))
    others = [t for t in result.trials if t.name != best.name]
    return [t.name for t in others if abs(t.mean(first.key) - best.mean(first.key)) < margin]


def listed(names: list[str]) -> str:
    """Names in quotation marks, at most five of them."""
    shown = [f"“{name}”" for name in names[:5]]
    return ", ".join(shown) + (" and others" if len(names) > 5 else "")
