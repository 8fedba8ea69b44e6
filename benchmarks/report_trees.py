"""Tables of the chapters trees and accuracy: predicting, beside a busy process, where boosting's time goes, ranks."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.answers import US, Record
from benchmarks.tables import table, three


def main_sizes(results: dict[str, Record], key: str) -> dict[str, tuple[Record, Record]]:
    """Workloads (record, named size) in which didact's entry has something under this key."""
    found = {name: (r, r["sizes"][r.get("main", 0)]) for name, r in results.items() if "sizes" in r}
    return {name: pair for name, pair in found.items() if key in pair[1]["libraries"].get(US, {})}


def over(record: Record | None, ours: Record, target: float | None) -> str:
    """The peer's median ÷ ours, and what was aimed at."""
    if not record or "median" not in record or "median" not in ours:
        return ""
    return three(record["median"] / ours["median"]) + (f" [{target:g}]" if target else "")


def peers_of(found: dict[str, tuple[Record, Record]], key: str) -> list[str]:
    names = (library for _, size in found.values() for library, r in size["libraries"].items() if key in r)
    return [library for library in dict.fromkeys(names) if library != US]


def scores(size: Record) -> str:
    found = {library: r for library, r in size["libraries"].items() if "score" in r}
    kept = {library: f" by {r['kept']:,} rows" if "kept" in r else "" for library, r in found.items()}
    return ", ".join(f"{library} {r['score']:.4f}{kept[library]}" for library, r in found.items())


def predictions(results: dict[str, Record]) -> str:
    found = main_sizes(results, "predict")
    if not found:
        return ""
    peers = peers_of(found, "predict")
    rows = []
    for name, (record, size) in found.items():
        ours, targets = size["libraries"][US]["predict"], record["predict_targets"]
        seconds = f"{three(ours['median'])} ({three(ours['minimum'])})"
        ratios = (over(size["libraries"].get(p, {}).get("predict"), ours, targets.get(p)) for p in peers)
        rows.append([name, f"{record['held']:,}", seconds, *ratios, scores(size)])
    header = ["workload", "rows predicted", "didact s", *(f"{p} ÷ didact" for p in peers), "score on these rows"]
    text = (
        "\nPredicting rows that were held out, right after the fit. The score is the share of right classes, or R², on"
    )
    text += " these rows; answers count as the same when it is at most 0.005 below the best.\n\n"
    return text + table(header, rows)


def beside(results: dict[str, Record]) -> str:
    found = main_sizes(results, "busy")
    if not found:
        return ""
    peers = peers_of(found, "busy")
    rows = []
    for name, (_, size) in found.items():
        ours = size["libraries"][US]
        cells = [name]
        for now, idle in ((ours["busy"], ours), (ours["busy"].get("predict"), ours.get("predict"))):
            known = now and idle and "median" in now and "median" in idle
            cells.append(f"{three(now['median'])}, {now['median'] / idle['median']:.2f} ×" if known else "")
        aims = {"LightGBM": 1.0}
        cells += [over(size["libraries"].get(p, {}).get("busy"), ours["busy"], aims.get(p)) for p in peers]
        rows.append(cells)
    text = "\nBeside a busy process: didact's seconds and how many times those of the idle machine they are [2]; and a"
    text += " peer's time ÷ didact's, both beside it:\n\n"
    header = ["workload", "didact fit", "didact predict", *(f"{p} ÷ didact, fit" for p in peers)]
    return text + table(header, rows)


def profile(results: dict[str, Record]) -> str:
    """Seconds of each stage of boosting, one column per library."""
    text = ""
    for record in results.values():
        for title, columns in record.get("profile", {}).items():
            stages = list(dict.fromkeys(stage for seconds in columns.values() for stage in seconds))
            rows = [[s, *(three(c[s]) if s in c else "" for c in columns.values())] for s in stages]
            text += f"\nWhere the time of boosting goes, in seconds: {title}:\n\n" + table(["stage", *columns], rows)
        text += "\n" + record["remark"] + "\n" if "profile" in record and record.get("remark") else ""
    return text


def skipped(results: dict[str, Record]) -> str:
    lines = [f"- {name}: not measured. {r['skipped']}\n" for name, r in results.items() if "skipped" in r]
    return "\n" + "".join(lines) if lines else ""


def ranks(means: list[float]) -> np.ndarray:
    """Rank 1 for the highest; equals share the mean of their ranks."""
    values = np.asarray(means)
    return np.array([(values > v).sum() + 0.5 * ((values == v).sum() + 1) for v in values])


def accuracy(results: dict[str, Record]) -> str:
    """Scores on each data set by family of models, best in bold, and the mean rank within the family."""
    found = {name: r["accuracy"] for name, r in results.items() if "accuracy" in r}
    if not found:
        return ""
    text = (
        "Defaults of each library; mean and standard deviation of the score in random splits (three quarters fitted).\n"
    )
    for family in dict.fromkeys(family for record in found.values() for family in record["families"]):
        models = list(next(iter(found.values()))["families"][family])
        rows, standing = [], []
        for name, record in found.items():
            values = record["families"][family]
            if any("scores" not in values[m] for m in models):
                rows.append([name, "", *(values[m].get("error", "") for m in models), ""])
                continue
            means = [float(np.mean(values[m]["scores"])) for m in models]
            standing.append(ranks(means))
            cells = [f"{mean:.4f} ± {np.std(values[m]['scores'], ddof=1):.4f}" for m, mean in zip(models, means)]
            best = int(np.argmax(means))
            cells[best] = f"**{cells[best]}**"
            rows.append([name, describe(record), *cells, " ".join(f"{r:g}" for r in standing[-1])])
        if standing:
            rows.append(["mean rank", "", *(f"{r:.2f}" for r in np.mean(standing, axis=0)), ""])
        text += f"\n{family}:\n\n" + table(["data", "task", *models, "ranks"], rows)
    return text


def describe(record: dict[str, Any]) -> str:
    size = f"{record['rows']:,} of {record['total']:,} × {record['columns']}"
    return f"{record['task']}, {size}, {record['categories']} categorical, {record['missing']:.1%} missing"


PARTS: list[Callable[[dict[str, Record]], str]] = [predictions, beside, profile, skipped, accuracy]
