"""The report stands alone, says the numbers, and shows names as text."""

import json
import re
import shlex
import shutil
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from didact.cli.app import app
from didact.datasets import bundled
from didact.study import Study, read_table, words
from didact.study import study as study_module

pytestmark = pytest.mark.usefixtures("few_models")
RANDOM = np.random.default_rng(0)
EVIL = "<script>alert(1)</script> & $x_{"


class Page(HTMLParser):
    """Collects tags, addresses, alternative texts and code; notes tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.addresses, self.images, self.code = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.addresses += [found[name] for name in ("src", "href", "action", "data") if found.get(name)]
        if tag == "img":
            self.images.append(found)
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open[-2:] == ["pre", "code"]:
            self.code.append(text)


@pytest.fixture
def studied(tmp_path):
    x = RANDOM.normal(size=150)
    table = pl.DataFrame({EVIL: x, "kind": RANDOM.choice([EVIL, "b"], 150), "y": RANDOM.poisson(np.exp(1 + 0.5 * x))})
    table = table.with_columns(y=pl.col("y") + pl.Series(np.arange(150) % 3))
    return Study("y", task="count", folds=3, out=tmp_path / "out").run(table)


def test_the_page_is_whole_and_needs_nothing_from_outside(studied):
    text = studied.report_path.read_text()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert not re.search(r"@import|url\(|https?://", re.sub(r"data:[^\"]*", "", text))
    assert len(page.images) == 5
    assert all(image["alt"] for image in page.images)


def test_names_from_the_table_are_text_and_never_tags(studied):
    text = studied.report_path.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_says_the_numbers_that_the_scores_say(studied):
    text = studied.report_path.read_text()
    scores = json.loads((studied.report_path.parent / "scores.json").read_text())
    assert scores == studied.scores
    assert scores["task"] == "count"
    assert f"{scores['held_out']['best']['poisson_deviance']['value']:.3f}" in text
    for model in scores["models"]:
        assert model["name"] in text
        assert f"{np.mean(model['validation']['poisson_deviance']):.3f}" in text
    assert [row["column"] for row in scores["importances"]] == [row.name for row in studied.importances]
    for heading in ("What was asked", "What the data are", "What was done", "What was found", "How sure", "do next"):
        assert heading in text


def test_a_failure_while_writing_leaves_what_was_there(studied, tmp_path, monkeypatch):
    tmp_path = tmp_path / "other"
    tmp_path.mkdir()
    (tmp_path / "report.html").write_text("old")

    def interrupted(model, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("didact.study.writing.save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study_module.write(studied, tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.html", "old")]


def test_the_commands_on_the_page_run_on_the_table_of_the_page(tmp_path, monkeypatch, capsys):
    """The penguins' file has gaps written NA and dates, which a plain reader takes for words."""
    result = Study("Sex", folds=2, out=tmp_path).run("penguins")
    shutil.copy(bundled()["penguins"], tmp_path / "NEW.csv")
    monkeypatch.chdir(tmp_path)
    command, program = Page(result.report_path.read_text()).code
    exec(compile(program, "the program on the page", "exec"), {})
    table = read_table("penguins")
    assert capsys.readouterr().out.strip() == str(result.model.predict(table)).strip()
    name, *arguments = shlex.split(command)
    assert name == "didact"
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert pl.read_csv("predictions.csv")["prediction"].to_list() == result.model.predict(table).tolist()


def test_a_perfect_score_is_not_said_to_be_certain(tmp_path):
    x = np.linspace(0.5, 1, 200) * np.resize([-1, 1], 200)
    result = Study("y", folds=2, out=tmp_path).run(pl.DataFrame({"x": x, "y": np.where(x > 0, "up", "down")}))
    text = result.report_path.read_text()
    assert result.held_out.best["accuracy"].value == 1.0
    assert "100.0 % to 100.0 %" not in text
    assert "95 % interval 91.2 % to 100.0 %" in text  # Wilson: 40 / (40 + 1.96²)


def test_what_is_said_agrees_with_what_was_tried(every_model, tmp_path):
    """A wave that no line can follow: the words say so, and do not advise what has been done already."""
    random = np.random.default_rng(1)
    x = random.uniform(-3, 3, 400)
    table = pl.DataFrame({"x": x, "noise": random.normal(size=400), "y": np.sin(2 * x) + 0.1 * random.normal(size=400)})
    result = Study("y", folds=2, out=tmp_path).run(table)
    text = result.report_path.read_text()
    assert result.best_trial.candidate.bends
    assert "which straight lines miss" in words.shape(result)
    assert "leans most on “x”" in words.leaning(result)
    assert "“noise” makes no clear difference" in words.leaning(result)
    assert "try models that can bend" not in text
    assert "Its coefficients" not in text
    assert "What the model leans on" in text
    for skipped in result.skipped:
        assert f"{skipped.name}: {skipped.why}." in text


def test_a_study_without_time_says_that_it_says_nothing(tmp_path):
    result = Study("Sex", folds=2, time_limit=1e-6, out=tmp_path).run("penguins")
    text = result.report_path.read_text()
    assert [trial.name for trial in result.trials] == ["Dummy"]
    assert "no time for any model but the dummy" in text
    assert "the time limit of 1e-06 s was reached" in text
    assert "Give it more time" in text
