"""The report stands alone, says the numbers, and shows names as text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from didact.study import Study
from didact.study import study as study_module

RANDOM = np.random.default_rng(0)
EVIL = "<script>alert(1)</script> & $x_{"


class Page(HTMLParser):
    """Collects tags, addresses and alternative texts; notes tags that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.addresses, self.images = [], [], [], []
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


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    x = RANDOM.normal(size=150)
    table = pl.DataFrame({EVIL: x, "kind": RANDOM.choice([EVIL, "b"], 150), "y": RANDOM.poisson(np.exp(1 + 0.5 * x))})
    table = table.with_columns(y=pl.col("y") + pl.Series(np.arange(150) % 3))
    return Study("y", task="count", folds=3, out=tmp_path_factory.mktemp("out")).run(table)


def test_the_page_is_whole_and_needs_nothing_from_outside(studied):
    text = studied.report_path.read_text()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert not re.search(r"@import|url\(|https?://", re.sub(r"data:[^\"]*", "", text))
    assert len(page.images) == 4
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
    for heading in ("What was asked", "What the data are", "What was done", "What was found", "How sure", "do next"):
        assert heading in text


def test_a_failure_while_writing_leaves_what_was_there(studied, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")

    def interrupted(model, path):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("didact.study.writing.save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study_module.write(studied, tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.html", "old")]
