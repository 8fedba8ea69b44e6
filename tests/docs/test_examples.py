"""The documentation tells the truth: examples run, code blocks run and print what they say, links lead somewhere."""

import contextlib
import importlib
import io
import re
import runpy
from pathlib import Path

import dask.array as da
import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import check_estimator

import didact
from didact import Batches
from didact.linear_model import Ridge

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```output\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
CLUSTER = [pytest.mark.cluster, pytest.mark.slow]


def blocks(page):
    """The Python blocks of a page, each with the output that stands under it."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def with_code():
    marks = {"scale.md": CLUSTER, "linear_model.md": [pytest.mark.slow], "study.md": [pytest.mark.slow]}
    return [pytest.param(page, id=page.name, marks=marks.get(page.name, [])) for page in PAGES if blocks(page)]


@pytest.fixture
def no_window(monkeypatch):
    """Pictures are drawn, shown to nobody and put away."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    with matplotlib.rc_context():
        yield pyplot
    pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, no_window, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")
    figures = [no_window.figure(number) for number in no_window.get_fignums()]
    assert figures
    assert all(axes.has_data() for figure in figures for axes in figure.axes)
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"


@pytest.mark.parametrize("page", with_code())
def test_code_blocks_run_and_print_what_the_page_shows(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for code, shown in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        assert printed.getvalue() == shown, code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not re.match(r"\w+:", link) and not link.startswith("gallery/"):
            assert (page.parent / link).exists(), link


def test_pictures_of_the_readme_are_small_and_one_is_made_by_its_example(no_window, monkeypatch, tmp_path):
    links = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links == ["docs/images/study_report.png", "docs/images/glm_families.png"]  # the report's needs a browser
    assert all((ROOT / link).stat().st_size < 60_000 for link in links)
    picture, made = ROOT / links[1], tmp_path / "picture.png"
    script = ROOT / "examples" / f"plot_{picture.stem}.py"
    monkeypatch.setattr("sys.argv", [str(script), str(made)])
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(script), run_name="__main__")
    ours, theirs = no_window.imread(made)[..., :3], no_window.imread(picture)[..., :3]
    assert ours.shape == theirs.shape
    assert np.mean(np.abs(ours - theirs)) < 0.02


def test_gallery_images_in_the_pages_belong_to_examples():
    names = {path.stem for path in EXAMPLES}
    for page in (ROOT / "docs").glob("*.md"):
        for name in re.findall(r"sphx_glr_(\w+)_\d{3}\.png|gallery/examples/(plot_\w+)\.", page.read_text()):
            assert (name[0] or name[1]) in names, name


@pytest.mark.parametrize("module", ["didact", "didact.linear_model", "didact.study", "didact.datasets", "didact.plot"])
def test_api_page_lists_every_public_name(module):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {module}\n")[1].split("\n## ")[0]
    listed = set(re.findall(r"^   ([\w.]+)$", section, re.MULTILINE))
    public = set(importlib.import_module(module).__all__) - {"__version__"} - didact._SUBMODULES
    assert public <= listed
    source = importlib.import_module(module)
    for name in listed:
        target = source
        for part in name.split(".")[:-1]:
            target = importlib.import_module(f"{target.__name__}.{part}")
        assert hasattr(target, name.split(".")[-1]), name


@pytest.fixture
def skeleton(monkeypatch, tmp_path):
    """The model of CONTRIBUTING.md as a module of its own."""
    ((code, _),) = blocks(ROOT / "CONTRIBUTING.md")
    (tmp_path / "small_ridge_of_the_guide.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("small_ridge_of_the_guide")
    yield module
    monkeypatch.delitem(importlib.sys.modules, module.__name__)


def test_skeleton_is_ridge_wherever_the_rows_are(skeleton):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(90, 4)) + 3.0, rng.integers(1, 4, size=90)
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=90)
    reference = Ridge(alpha=2.0).fit(X, y, w)
    batches = Batches(lambda: ((X[i : i + 25], y[i : i + 25], w[i : i + 25]) for i in range(0, 90, 25)))
    lazy = [da.from_array(a, chunks=(20, *a.shape[1:])) for a in (X, y, w)]
    for data in ((X, y, w), (batches,), lazy):
        model = skeleton.SmallRidge(alpha=2.0).fit(*data)
        assert_allclose(model.coef_, reference.coef_, rtol=1e-10)
        assert_allclose(np.asarray(model.predict(X)), reference.predict(X), rtol=1e-10)


@pytest.mark.slow
def test_skeleton_passes_the_checks_of_scikit_learn(skeleton):
    check_estimator(skeleton.SmallRidge(), on_skip=None)
    assert "alpha : float in the interval [0, inf), default=1.0" in skeleton.SmallRidge.__doc__
