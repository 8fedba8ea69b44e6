"""Writes RESULTS.md from the JSON files in benchmarks/results, one section per chapter, and the README's first rows."""

import json
import os
from pathlib import Path
from typing import Any

from benchmarks import headline, report_trees
from benchmarks.answers import US, Record
from benchmarks.tables import table, three

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
HEAD = """# Results

Written by `python -m benchmarks`; the raw numbers are in `results/`. A ratio is the peer's time ÷ didact's time
(medians of alternating rounds, above 1 didact is faster), for the fastest of the peer's solvers that reaches the same
answer; its name stands beside it, and the ratio that was aimed at in brackets. Didact's own variants are chosen in the
same way, and so marked. The last figure of a check is what it is off by at most, over what is allowed; ✗ marks an
answer that is off by more, > a peer that was cut off after a minute. Seconds are the median and, in brackets, the
minimum. Memory is the peak resident size above the imports, input included, ÷ the size of the data. Growth is the time
÷ the time at a tenth of the rows: 10 is linear.
"""


def save(path: Path, text: str) -> None:
    """Write beside, then rename: an interrupted run leaves the old file whole."""
    path.parent.mkdir(exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text)
    os.replace(beside, path)


def ratio(record: Record | None, ours: Record, target: float | None, agree: float) -> str:
    if record is None:
        return ""
    if "median" not in ours:
        return "–"
    if (error := record.get("error", "")).startswith("over "):  # cut off: at least so many times as long
        return f"> {three(float(error.split()[1]) / ours['median'])}" + (f" [{target:g}]" if target else "")
    if "median" not in record:
        return error or "failed"
    text = three(record["median"] / ours["median"])
    text += f" [{target:g}]" if target else ""
    return text + marks(record, agree)


def marks(record: Record, agree: float) -> str:
    """The variant, and whether its answer is off."""
    variant = f" {record['variant']}" if record.get("variant", "default") != "default" else ""
    return variant + (" ✗" if record.get("gap", 0.0) > agree else "")


def size_row(name: str, size: Record, targets: dict[str, float], peers: list[str], agree: float) -> list[str]:
    libraries = size["libraries"]
    ours = libraries.get(US, {})
    seconds = f"{three(ours['median'])} ({three(ours['minimum'])})" if "median" in ours else ours.get("error", "failed")
    seconds += marks(ours, agree)
    gaps = {library: record["gap"] for library, record in libraries.items() if "gap" in record}
    worst = max(gaps, key=lambda library: gaps[library], default="")
    return [
        name,
        f"{size['rows']:,} × {size['columns']:,}",
        seconds,
        *(ratio(libraries.get(peer), ours, targets.get(peer), agree) for peer in peers),
        f"{gaps[worst]:.0e} ({worst}) of {agree:.0e}" if gaps else "",
        three(ours["memory"]["bytes"] / size["bytes"]) if "bytes" in ours.get("memory", {}) else "",
        three(ours["growth"]) if "growth" in ours else "",
    ]


def cold_row(name: str, size: Record, main: Record) -> list[str]:
    """Cold starts at the first size, the peers' memory at the named one."""
    cells = [name]
    for library in (US, "scikit-learn"):
        cold = size["libraries"].get(library, {}).get("cold", {})
        known = "first" in cold
        beyond = cold["first"] - cold["warm"] if known else 0.0
        cells += [three(max(0.0, beyond)), three(cold["import"] + max(0.0, beyond))] if known else ["", ""]
    memory = {
        library: three(record["memory"]["bytes"] / main["bytes"])
        for library, record in main["libraries"].items()
        if library != US and "bytes" in record.get("memory", {})
    }
    return [*cells, ", ".join(f"{library} {m}" for library, m in memory.items())]


def workloads(results: dict[str, Record]) -> str:
    found = {name: record for name, record in results.items() if "sizes" in record}
    if not found:
        return ""
    peers = list(dict.fromkeys(p for r in found.values() for p in r["sizes"][0]["libraries"] if p != US))
    header = ["workload", "size", "didact s", *(f"{p} ÷ didact" for p in peers), "answers off by", "memory", "growth"]
    rows = [
        size_row(name, size, record["targets"] if i == record.get("main", 0) else {}, peers, record.get("agree", 1e-6))
        for name, record in found.items()
        for i, size in enumerate(record["sizes"])
    ]
    text = table(header, rows)
    fits = [fit for record in found.values() for size in record["sizes"] for fit in size["libraries"].values()]
    if not any("cold" in fit or "memory" in fit for fit in fits):
        return text
    cold = ["workload", "didact: first fit − warm fit, s", "with import, s", "scikit-learn: first − warm, s"]
    cold += ["with import, s", "peers' memory ÷ data"]
    text += "\nCold start (fresh process, compiled code cached) and the peers' memory:\n\n"
    return text + table(
        cold, [cold_row(name, r["sizes"][0], r["sizes"][r.get("main", 0)]) for name, r in found.items()]
    )


def imports(results: dict[str, Record]) -> str:
    if "imports" not in results:
        return ""
    rows = [
        [f"`import {r['module']}`", f"{three(r['median'])} ({three(r['minimum'])})"]
        for r in results["imports"]["imports"]
    ]
    return "\n" + table(["fresh process", "seconds"], rows)


def out_of_core(results: dict[str, Record]) -> str:
    if "out of core" not in results:
        return ""
    found = results["out of core"]["out_of_core"]
    rows = [
        [m, r["error"], "", "", ""]
        if "error" in r
        else [m, three(r["fit"]), three(r["predict"]), f"{r['peak'] / 2**20:.0f} MiB", f"{r['gradient']:.0e}"]
        for m, r in found["models"].items()
    ]
    title = f"\nOut of core: a Parquet file of {found['rows']:,} rows × {found['columns']} columns and a target "
    title += f"({found['bytes'] / 2**30:.1f} GiB), one fresh process per model:\n\n"
    return title + table(["model", "fit, s", "predict, s", "peak of the whole process", "relative gradient"], rows)


def section(chapter: str, content: dict[str, Any]) -> str:
    m = content["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    text = f"\n## {chapter}\n\n{m['date']}, {m['cores']} cores of {m['cpu']}, Python {m['python']}; {versions}."
    results = content["results"]
    text += f" Load average at the start {m['load']:.2f}.{earlier(results, m['date'])}\n\n"
    text += workloads(results) + "".join(part(results) for part in report_trees.PARTS)
    return text + imports(results) + out_of_core(results) + texts(results)


def earlier(results: dict[str, Record], date: str) -> str:
    """Which rows are of other days than the heading, and of the code and the machine of those days."""
    days = sorted({r["measured"] for r in results.values()} - {date})
    listed = ("; ".join(name for name, r in results.items() if r["measured"] == day) for day in days)
    return "".join(f" Measured on {day}, not again since: {names}." for day, names in zip(days, listed, strict=True))


def texts(results: dict[str, Record]) -> str:
    """What extras have written themselves."""
    return "".join(f"\n{name}:\n\n```\n{r['text']}```\n" for name, r in results.items() if "text" in r)


def render() -> str:
    """The whole of RESULTS.md; ``gpu.json``, where there is one, brings its own table."""
    text = HEAD
    for path in sorted(RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        text += content["markdown"] if "markdown" in content else section(path.stem, content)
    return text


def write() -> None:
    """All results, and of them the rows with which the README begins."""
    save(FOLDER / "RESULTS.md", render())
    readme = FOLDER.parent / "README.md"
    save(readme, headline.replaced(readme.read_text(encoding="utf-8")))
