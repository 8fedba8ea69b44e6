"""The six rows with which the README and the documentation begin, made of the numbers that RESULTS.md shows."""

import json
from pathlib import Path

from benchmarks.answers import US, Record
from benchmarks.tables import table

RESULTS = Path(__file__).parent / "results"
PEER = "scikit-learn"
MARK = "<!-- six rows -->\n"
HEADER = ["model", "rows × columns", "answer", "fit, × as fast", "predict, × as fast", "quickest other library"]
ROWS = (
    ("linear", "LinearRegression", "`LinearRegression`"),
    ("linear", "LogisticRegression, 10 classes", "`LogisticRegression`, 10 classes"),
    ("neighbors", "10 nearest of 20,000 queries, 8 columns", "10 `NearestNeighbors` of 20,000 queries"),
    ("trees", "RandomForestClassifier, 100 trees, Covertype", "`RandomForestClassifier`, Covertype"),
    ("trees", "HistGradientBoostingClassifier, Covertype, 7 classes", "`HistGradientBoostingClassifier`, Covertype"),
    ("trees", "HistGradientBoostingClassifier, Census-Income, categories", "… Census-Income, categories"),
)


def size_of(chapter: str, name: str) -> Record:
    """What was measured of a workload at the size that its targets are for."""
    record = json.loads((RESULTS / f"{chapter}.json").read_text(encoding="utf-8"))["results"][name]
    return record["sizes"][record.get("main", 0)]


def times(theirs: Record, ours: Record) -> str:
    """The peer's median ÷ ours in two digits, "" where nothing was measured."""
    if "median" not in theirs or "median" not in ours:
        return ""
    ratio = theirs["median"] / ours["median"]
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def answer(libraries: dict[str, Record]) -> str:
    """Both scores on held-out rows, or to how many digits the answers agree."""
    ours, theirs = libraries[US], libraries[PEER]
    if "score" in ours:
        return f"{ours['score']:.3f}, {PEER} {theirs['score']:.3f}"
    gap = max(ours["gap"], theirs["gap"])
    return f"the same to {gap:.0e}" if gap else "the same"


def quickest(libraries: dict[str, Record]) -> str:
    """The library besides the two whose fit took least, with its score where there is one."""
    others = {name: r for name, r in libraries.items() if name not in (US, PEER) and "median" in r}
    if not others:
        return ""
    name = min(others, key=lambda name: others[name]["median"])
    score = f" (score {others[name]['score']:.3f})" if "score" in others[name] else ""
    return f"{name} {times(others[name], libraries[US])}{score}"


def render() -> str:
    """The table."""
    rows = []
    for chapter, name, title in ROWS:
        size = size_of(chapter, name)
        ours, theirs = size["libraries"][US], size["libraries"][PEER]
        predict = times(theirs.get("predict", {}), ours.get("predict", {}))
        shape = f"{size['rows']:,} × {size['columns']:,}"
        rows.append(
            [title, shape, answer(size["libraries"]), times(theirs, ours), predict or "–", quickest(size["libraries"])]
        )
    return table(HEADER, rows)


def replaced(page: str) -> str:
    """The page with the rows between its marks as they are measured now."""
    before, _, after = page.split(MARK)
    return before + MARK + render() + MARK + after
