"""What a study leaves on disk: report.html, scores.json and model.didact, each whole or not there."""

import dataclasses
import json
from pathlib import Path

from didact.core.files.persistence import save
from didact.study.files import beside, folder
from didact.study.report import render
from didact.study.result import StudyResult

REPORT, SCORES, MODEL = "report.html", "scores.json", "model.didact"


def write(result: StudyResult, out: Path) -> StudyResult:
    """Write the three files into a folder; nothing is renamed into place before all three are whole."""
    page = render(result)
    text = json.dumps(result.scores, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    folder(out)
    with beside(out / REPORT, out / SCORES, out / MODEL) as (report, scores, model):
        report.write_text(page, encoding="utf-8")
        scores.write_text(text, encoding="utf-8")
        save(result.model, model)
    return dataclasses.replace(result, report_path=out / REPORT)
