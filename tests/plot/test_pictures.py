"""Pictures show the numbers they were given, are the same every time, and need no global state."""

import subprocess
import sys

import numpy as np
import pytest

from didact import plot

FIGURES = {
    "histogram": lambda: plot.histogram(np.arange(50.0), "age"),
    "class_shares": lambda: plot.class_shares(["no", "yes"], [70, 30]),
    "predicted_actual": lambda: plot.predicted_actual(np.arange(5.0), np.arange(5.0) ** 2, "price in $"),
    "roc": lambda: plot.roc(np.array([0, 0, 1]), np.array([0, 1, 1]), 1.0, "yes"),
    "confusion": lambda: plot.confusion(np.array([[5, 1], [0, 4]]), ["no", "yes"]),
    "dots": lambda: plot.dots(["dummy", "ridge"], [[2.0, 2.1], [1.0, 1.2]], "ridge", "error"),
    "bars": lambda: plot.bars(["a", "b"], [1.5, -0.5], "effect"),
    "heat": lambda: plot.heat(["a", "b"], ["x", "y", "z"], np.eye(2, 3), "effect"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_is_the_same_every_time(name):
    assert plot.svg(FIGURES[name]()) == plot.svg(FIGURES[name]())
    assert plot.png(FIGURES[name]()).startswith(b"\x89PNG")


def test_bars_have_the_length_and_the_sign_that_was_given():
    axes = plot.bars(["a", "b"], [1.5, -0.5], "effect").axes[0]
    assert [bar.get_width() for bar in axes.patches] == [1.5, -0.5]
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()


def test_predicted_stands_across_and_actual_up():
    axes = plot.predicted_actual(np.array([1.0, 2.0]), np.array([10.0, 20.0]), "y").axes[0]
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), [[10.0, 1.0], [20.0, 2.0]])


def test_many_points_are_thinned_and_the_ends_stay():
    y = np.arange(50_000.0)
    points = plot.predicted_actual(y, y, "y").axes[0].collections[0].get_offsets()
    assert len(points) == 2000
    assert points[0, 0] == 0
    assert points[-1, 0] == 49_999


def test_confusion_writes_each_count_in_its_cell():
    axes = plot.confusion(np.array([[5, 1], [0, 4]]), ["no", "yes"]).axes[0]
    assert {(text.get_position(), text.get_text()) for text in axes.texts} == {
        ((0, 0), "5"), ((1, 0), "1"), ((0, 1), "0"), ((1, 1), "4"),
    }  # fmt: skip


def test_dollars_and_underscores_in_names_are_not_mathematics():
    plot.svg(plot.bars(["cost_{in $", "$x$ \\frac"], [1.0, 2.0], "effect $"))
    plot.svg(plot.class_shares(["$a", "b$"], [1, 2]))


def test_matplotlib_loads_on_the_first_picture_only():
    code = "import sys, didact.plot; assert 'matplotlib' not in sys.modules; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
