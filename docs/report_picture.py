"""The picture of a report for the first page: ``python docs/report_picture.py``, with chromium on the path.

It is a real report, of which the first box and some figures are put side by side so that they fit on one screen.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from didact.study import Study

PICTURE = Path(__file__).parent / "images" / "study_report.png"
WIDTH, HEIGHT = 1280, 830
LAYOUT = """<style>
body { max-width: none; margin: 0; padding: 26px 34px; background: #fff; }
.sheet { display: grid; grid-template-columns: 1fr 1fr; gap: 18px 44px; align-items: start; }
figure { margin: 0 0 14px; } figure img { width: 100%; max-width: none; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 18px; align-items: start; }
figcaption { display: none; } h3 { margin: 0 0 6px; } h1 { margin: 0; }
.answer { margin: 10px 0 18px; padding: 8px 18px; font-size: 0.95em; }
</style>"""


def sheet(report: str) -> str:
    """The report's own style and parts on one sheet."""
    style = re.search(r"<style>.*?</style>", report, re.DOTALL)
    top = re.search(r'<header>.*?<div class="answer">.*?</div>', report, re.DOTALL)
    alts = ("Scores of each", "Confusion", "ROC", "Importance")
    models, confusion, roc, importances = (
        re.search(rf'<figure><img[^>]*alt="{alt}[^>]*>', report).group() + "</figure>" for alt in alts
    )
    left = f"{top.group()}<h3>The models compared</h3>{models}"
    right = f'<h3>On the rows held out</h3><div class="pair">{confusion}{roc}</div>'
    right += f"<h3>What the model leans on</h3>{importances}"
    body = f'<div class="sheet"><div>{left}</div><div>{right}</div></div>'
    return f'<!doctype html><meta charset="utf-8">{style.group()}{LAYOUT}<body>{body}'


def main() -> None:
    """Study, lay out, take the picture and keep 256 colours of it."""
    with tempfile.TemporaryDirectory() as folder:
        result = Study(target="Sex", out=folder).run("penguins")
        page, raw = Path(folder) / "sheet.html", Path(folder) / "raw.png"
        page.write_text(sheet(Path(result.report_path).read_text(encoding="utf-8")), encoding="utf-8")
        browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
        subprocess.run([*browser, f"--screenshot={raw}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)
        Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
