"""The site: its theme, its first page, links between classes and examples, and nothing that comes from afar."""

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import didact
from benchmarks import headline, report

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
LOADING = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"'
    r'|<link\b(?=[^>]*rel="(?:stylesheet|preload|modulepreload|icon|preconnect|dns-prefetch)")[^>]*href="([^"]*)"'
)
INDEX = """# A small site

A formula, $\\hat x_1$, and what a program prints:

```python
print(1)
```
```output
1
```

```{toctree}
api
gallery/examples/index
```
"""
API = """# API reference

## didact.linear_model
```{eval-rst}
.. currentmodule:: didact.linear_model
.. autosummary::
   :toctree: gallery/api

   LassoCV
   Perceptron
   lasso_path
```
"""


def built(test):
    """Mark a test that reads the small site: slow, and all in one process, so that the site is built once."""
    return pytest.mark.slow(pytest.mark.xdist_group("site")(test))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two pages, three names and one example under the settings of the documentation; no example runs."""
    root = tmp_path_factory.mktemp("site")
    for name in ("_ext", "_static", "_templates"):
        shutil.copytree(DOCS / name, root / "docs" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(DOCS / "conf.py", root / "docs")
    (root / "docs" / "index.md").write_text(INDEX, encoding="utf-8")
    (root / "docs" / "api.md").write_text(API, encoding="utf-8")
    (root / "examples").mkdir()
    for name in ("GALLERY_HEADER.rst", "plot_lasso_path.py"):
        shutil.copy(ROOT / "examples" / name, root / "examples")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-t", "quick", "-b", "html", "docs", "site"]
    path = os.pathsep.join([str(Path(didact.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(build, cwd=root, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root / "site"


def read(page):
    return page.read_text(encoding="utf-8")


@built
def test_page_has_search_both_colours_the_version_and_its_formula_without_a_script(site):
    page = read(site / "index.html")
    assert "pydata-sphinx-theme" in page
    assert 'class="btn search-button' in page or "search-button-field" in page
    assert "theme-switch-button" in page
    assert re.search(rf"version-switcher__button[^>]*>\s*{re.escape(didact.__version__)}", page)
    assert "<math" in page
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)
    assert "copybutton.js" in page
    assert (site / "searchindex.js").exists()


@built
def test_page_of_a_class_leads_to_its_examples_and_back(site):
    for name in ("LassoCV", "lasso_path"):
        page = read(site / "gallery" / "api" / f"didact.linear_model.{name}.html")
        assert "plot_lasso_path.html" in page, name
    assert "plot_lasso_path.html" not in read(site / "gallery" / "api" / "didact.linear_model.Perceptron.html")


@built
def test_example_can_be_downloaded_as_a_notebook(site):
    page = read(site / "gallery" / "examples" / "plot_lasso_path.html")
    (link,) = set(re.findall(r'href="([^"]+plot_lasso_path\.ipynb)"', page))
    cells = json.loads(read(site / "gallery" / "examples" / link))["cells"]
    assert any("import" in "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


@built
def test_sidebar_of_a_class_has_the_names_of_its_module(site):
    page = read(site / "gallery" / "api" / "didact.linear_model.LassoCV.html")
    sidebar = page[page.index("API reference</p>") :].split("</nav>")[0]
    assert re.findall(r">(\w+)</a></li>", sidebar) == ["LassoCV", "Perceptron", "lasso_path"]
    assert 'href="../../api.html#didact-linear-model"' in sidebar


@built
def test_pages_load_nothing_from_another_machine(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 6
    for page in pages:
        for found in LOADING.findall(read(page)):
            link = "".join(found)
            assert not re.match(r"(?:https?:)?//", link), (page.name, link)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(\s*['\"]?|@import\s+['\"])(?:https?:)?//", read(sheet)), sheet.name


def test_switcher_names_this_version_and_no_other_that_is_not_there():
    entries = json.loads(read(DOCS / "_static" / "switcher.json"))
    changelog = read(ROOT / "CHANGELOG.md")
    assert didact.__version__ in {entry["version"] for entry in entries}
    for entry in entries:
        (status,) = re.findall(rf"^## {re.escape(entry['version'])} — (.+)$", changelog, re.MULTILINE)
        assert ("unreleased" in entry["name"]) == (status == "unreleased")


def test_first_rows_of_the_readme_are_those_that_were_measured():
    assert headline.replaced(README) == README
    assert len(headline.ROWS) == 6


def test_first_rows_agree_with_the_results():
    results = read(ROOT / "benchmarks" / "RESULTS.md")
    assert results == report.render()
    lines = [line for line in results.splitlines() if line.startswith("| ")]
    for _, name, title in headline.ROWS:
        shown = next(line for line in README.splitlines() if line.startswith(f"| {title} |")).split(" | ")
        (fit,) = [line.split(" | ") for line in lines if line.startswith(f"| {name} | {shown[1]} |")]
        ratio = float(re.match(r"[\d.]+", fit[3]).group())
        assert float(shown[3]) == pytest.approx(ratio, rel=0.05)


def test_first_page_begins_as_the_readme_does():
    page = read(DOCS / "index.md")
    for mark in re.findall(r":start-after: (<!-- .* -->)", page):
        assert mark in README
    assert README.index("<!-- begin -->") < README.index("study_report.png") < README.index(headline.MARK)
    assert "images/study_report.png" in page
    assert (DOCS / "images" / "study_report.png").stat().st_size < 100_000


def test_chapter_pages_are_in_one_table_of_contents():
    trees = [
        tree for page in DOCS.glob("*.md") for tree in re.findall(r"```\{toctree\}\n(.*?)```", read(page), re.DOTALL)
    ]
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    listed = [re.sub(r".*<(.+)>", r"\1", entry) for entry in entries]
    assert sorted(listed) == sorted({page.stem for page in DOCS.glob("*.md")} - {"index"} | {"gallery/examples/index"})


def used_by(example):
    """Names of didact that an example imports, as (module, name), and whether it says them by themselves.

    The gallery takes ``Batches.from_parquet`` for a use of the method alone; a role in the text names the class.
    """
    text = read(example)
    nodes = list(ast.walk(ast.parse(text)))
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    alone = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in owners}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "didact":
            for name in (alias.name for alias in node.names):
                yield node.module, name, name in alone or f":class:`{node.module}.{name}`" in text


def test_every_class_of_an_example_has_a_page_that_the_gallery_can_link_to_it():
    pages = set()
    for module, names in re.findall(
        r"currentmodule:: (\S+)\n(.*?)(?=currentmodule|```)", read(DOCS / "api.md"), re.DOTALL
    ):
        pages |= {f"{module}.{name}" for name in re.findall(r"^   ([\w.]+)$", names, re.MULTILINE)}
    for example in EXAMPLES:
        for module, name, said in used_by(example):
            found = getattr(importlib.import_module(module), name)
            if inspect.isclass(found) and found.__module__.startswith("didact."):
                assert f"{module}.{name}" in pages
                assert said, (example.name, name)


def test_formulas_in_docstrings_stay_as_they_are_and_attributes_become_literals(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    docstrings = importlib.import_module("docstrings")
    formula = [".. math:: P = \\sum_t p_{t,k}", "    + q_{k}", "", ":math:`x_+ = \\max(x,", "0_)`"]
    lines = ["See coef_ and", ">>> model.coef_", *formula, "**a_, b_** : int", "then n_iter_."]
    docstrings.mark_attributes(None, "class", "Model", None, None, lines)
    assert lines == ["See ``coef_`` and", ">>> model.coef_", *formula, "**a_, b_** : int", "then ``n_iter_``."]
