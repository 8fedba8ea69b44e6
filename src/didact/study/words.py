"""What was found, in sentences: the answer, what was done, how sure it is, and what to do next."""

import math

from didact.study.intervals import Interval
from didact.study.measures import Measure
from didact.study.result import StudyResult
from didact.study.validation import Trial, choose

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
    """An interval as two ends, where they differ as they are written."""
    low, high = number(interval.low, key), number(interval.high, key)
    if low == high:
        return "exactly" if interval.low == interval.high else "almost exactly"
    return f"{low} to {high}"


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
            f"On {result.rows['held_out']:,} rows that it had never seen, the best model, {result.best}, named "
            f"the right class of “{result.task.target}” for {number(mine.value, measure.key)} of them "
            f"(95 % interval {spread(mine, measure.key)})."
        )
        second = f"A dummy that ignores the columns is right for {number(dummy.value, measure.key)}."
    else:
        first = (
            f"On {result.rows['held_out']:,} rows that it had never seen, the best model, {result.best}, missed "
            f"“{result.task.target}” by {number(mine.value)} on average (95 % interval {spread(mine, measure.key)})."
        )
        second = f"A dummy that always says the mean misses by {number(dummy.value)}."
    return [first, second, verdict(result)]


def verdict(result: StudyResult) -> str:
    """Whether the columns help at all."""
    gain = result.held_out.gain[result.measures[0].key]
    sure = any(result.held_out.gain[m.key].low > 0 for m in (result.measures[0], headline(result)))
    if len(result.trials) == 1:
        return "There was no time for any model but the dummy, so this says nothing about the columns."
    if result.best == result.dummy_trial.name or gain.value <= 0:
        return "With these columns and models, the target could not be predicted better than by the dummy."
    if sure:
        return "The columns do tell something about the target: the gain over the dummy is more than chance."
    return "The gain over the dummy is small enough to be chance: more rows are needed to tell."


def shape(result: StudyResult) -> str:
    """Whether models that bend did better than those made of straight lines; empty where not both were compared."""
    first = result.measures[0]
    straight, bent = ([t for t in result.trials[1:] if t.candidate.bends == bends] for bends in (False, True))
    if not straight or not bent or result.best == result.dummy_trial.name:
        return ""
    line, curve = choose(straight, first), choose(bent, first)
    told = ", ".join(f"{t.name} came to {number(t.mean(first.key), first.key)}" for t in (line, curve))
    opening = f"Of the models made of straight lines and of those that can bend, the best were: {told} ({first.label})."
    if _within_chance(line, curve, first):
        return f"{opening} The difference is no more than chance: straight lines are about enough here."
    if first.better(curve.mean(first.key), line.mean(first.key)):
        return f"{opening} The target follows the columns in curves, steps or combinations, which straight lines miss."
    return f"{opening} Bending did not help: straight lines describe these rows better."


def leaning(result: StudyResult) -> str:
    """Which columns the predictions depend on, in a sentence or two."""
    first, found = result.measures[0], result.importances
    clear = [i for i in found if i.value > 2 * i.spread and i.value > 0]  # other rows would differ about as shuffles do
    if not clear:
        return "No column makes a clear difference by itself."
    most = clear[0]
    now = result.held_out.best[first.key].value
    change = number(most.value, first.key)
    more = "falls" if first.higher else "grows"
    sentence = (
        f"The model leans most on “{most.name}”: with its values shuffled, the {first.label} {more} by {change} "
        f"(it is {number(now, first.key)} on all held-out rows)."
    )
    idle = [i.name for i in found if i not in clear]
    if idle:
        verb = "makes" if len(idle) == 1 else "make"
        sentence += f" {listed(idle)} {verb} no clear difference."
    return sentence


def certainty(result: StudyResult) -> list[str]:
    """How sure the scores are."""
    first = result.measures[0]
    mine, gain = result.held_out.best[first.key], result.held_out.gain[first.key]
    sentences = [
        f"The held-out rows were set aside before anything was learnt and looked at once. The 95 % interval of the "
        f"{first.label} runs from {number(mine.low, first.key)} to {number(mine.high, first.key)}: intervals made in "
        "this way hold the model's true score, the one on endlessly many rows of the same kind, in about 95 of 100 "
        "studies. The score on as many other rows would lie in it less often, as it has a chance error of its own.",
        f"On the same rows, the gain over the dummy in {first.label} is {number(gain.value, first.key)} "
        f"(95 % interval {spread(gain, first.key)}; above zero is better).",
    ]
    best = result.best_trial
    sentences.append(
        f"In cross-validation the {first.label} was {number(best.mean(first.key), first.key)} on rows left out and "
        f"{number(_mean(best.training[first.key]), first.key)} on rows that the model was fitted to. {_gap(result)}"
    )
    if rivals := _rivals(result):
        verb = "is" if len(rivals) == 1 else "are"
        sentences.append(
            f"{joined(rivals)} {verb} within chance of the best in cross-validation: their order is not certain."
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
    bent = [t for t in result.trials if t.candidate.bends]
    late = [skipped.name for skipped in result.skipped if skipped.late]
    if late:
        steps.append(f"Give it more time than {result.settings['time_limit']:g} s: {joined(late)} could not be tried.")
    if _lost(result) > 0.3 and not result.best_trial.candidate.bends:
        steps.append(
            "The model does clearly worse on new rows than on its own: more rows, fewer columns or a stronger penalty "
            "should help more than a richer model."
        )
    elif gained < 0.5 and bent:
        steps.append(
            f"Much of the target is left unexplained, though {len(result.trials) - 1} models were tried, of which "
            f"{len(bent)} can bend: look for columns that say more rather than for another model."
        )
    elif gained < 0.5 and not late:
        steps.append("Much of the target is left unexplained: look for columns that say more.")
    if result.best_trial.candidate.bends and _lost(result) > 0.3 and gained < 0.9:
        steps.append("More rows are likely to help: the model fits its own rows much better than new ones.")
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
    if _lost(result) <= 0.3:
        dummy = number(result.dummy_trial.mean(result.measures[0].key), result.measures[0].key)
        return f"Beside the dummy's {dummy}, the two are close: the model has not merely learnt its rows by heart."
    if result.best_trial.candidate.bends:
        return (
            "Models that bend follow their own rows closely, so the gap alone is no fault: the score on rows left out "
            "is the one that counts."
        )
    return "That is a wide gap: part of what it learnt holds only for the rows it learnt from."


def _rivals(result: StudyResult) -> list[str]:
    first, best = result.measures[0], result.best_trial
    return [t.name for t in result.trials if t.name != best.name and _within_chance(t, best, first)]


def _within_chance(a: Trial, b: Trial, measure: Measure) -> bool:
    """Whether the mean difference over the folds is below twice its standard error.

    The folds share most of their training rows, so the usual error is too small; it is widened as Nadeau and Bengio
    (2003), doi:10.1023/A:1024068626366, propose: 1/k + 1/(k − 1) in place of 1/k.
    """
    gaps = [x - y for x, y in zip(a.validation[measure.key], b.validation[measure.key], strict=True)]
    k = len(gaps)
    variance = sum((gap - _mean(gaps)) ** 2 for gap in gaps) / (k - 1)
    return abs(_mean(gaps)) <= 2 * math.sqrt(variance * (1 / k + 1 / (k - 1)))


def joined(names: list[str]) -> str:
    """Names as people list them: A, B and C."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def listed(names: list[str]) -> str:
    """Names in quotation marks, at most five of them."""
    return joined([f"“{name}”" for name in names[:5]] + ["others"] * (len(names) > 5))
