"""The trace holds what the optimiser went through, and its picture shows it."""

import numpy as np
import pytest

from didact import plot
from didact.optimize import least_squares, minimize

METHODS = ["gradient", "momentum", "adagrad", "adam", "newton", "cg", "lbfgs", "coordinate", "diagonal-newton"]


def valley(x):
    return (1 - x[0]) ** 2 + 4 * (x[1] - x[0] ** 2) ** 2


def slope(x):
    return np.array([-2 * (1 - x[0]) - 16 * x[0] * (x[1] - x[0] ** 2), 8 * (x[1] - x[0] ** 2)])


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_agrees_with_the_function(method):
    result = minimize(valley, [-1.0, 1.5], method, slope, max_iter=20, keep_iterates=True)
    trace = result.trace
    assert len(trace.iterates) == len(trace.values) == len(trace.gradient_norms) == result.n_iter + 1
    np.testing.assert_array_equal(trace.iterates[0], [-1.0, 1.5])
    np.testing.assert_array_equal(trace.iterates[-1], result.x)
    np.testing.assert_allclose(trace.values, [valley(x) for x in trace.iterates], rtol=1e-14)
    np.testing.assert_allclose(trace.gradient_norms, [np.linalg.norm(slope(x)) for x in trace.iterates], rtol=1e-12)
    assert result.history == trace.values.tolist()
    plain = minimize(valley, [-1.0, 1.5], method, slope, max_iter=20)
    assert plain.trace is None
    assert plain.history == result.history


def test_the_trace_of_least_squares():
    r = lambda x: np.array([1 - x[0], 2 * (x[1] - x[0] ** 2)])
    result = least_squares(r, [-1.0, 1.5], keep_iterates=True)
    np.testing.assert_allclose(result.trace.values, [0.5 * valley(x) for x in result.trace.iterates], rtol=1e-12)
    np.testing.assert_allclose(
        result.trace.gradient_norms, [0.5 * np.linalg.norm(slope(x)) for x in result.trace.iterates], atol=1e-8
    )
    assert result.plot().axes


def test_the_picture_shows_the_path_on_contours():
    result = minimize(valley, [-1.0, 1.5], "gradient", slope, max_iter=20, keep_iterates=True)
    axes = result.plot().axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), result.trace.iterates)
    np.testing.assert_array_equal(axes.lines[2].get_xydata(), [result.x])
    levels = axes.collections[0].levels
    assert (np.diff(levels) > 0).all()
    assert levels[0] < valley(np.array([-1.0, 1.5]))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert ((result.trace.iterates > [left, bottom]) & (result.trace.iterates < [right, top])).all()


def test_several_paths_have_a_legend_and_a_frame_of_ones_own():
    paths = {
        method: minimize(valley, [-1.0, 1.5], method, slope, max_iter=20, keep_iterates=True).trace.iterates
        for method in METHODS
    }
    figure = plot.descent(valley, paths, bounds=((-2, 2), (-1, 3)), names=("a", "b"))
    axes = figure.axes[0]
    assert axes.get_xlim() == (-2, 2)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == METHODS
    assert plot.svg(figure) == plot.svg(plot.descent(valley, paths, bounds=((-2, 2), (-1, 3)), names=("a", "b")))


def test_a_path_that_stands_still_and_functions_with_holes_are_drawn():
    plot.svg(plot.descent(lambda x: np.log(x[0]) + x[1] ** 2, {"path": np.ones((1, 2))}))


def test_pictures_that_cannot_be_drawn_say_so():
    with pytest.raises(ValueError, match="keep_iterates=True"):
        minimize(valley, [-1.0, 1.5]).plot()
    with pytest.raises(ValueError, match="two variables; this objective has 3"):
        minimize(lambda x: x @ x, np.ones(3), keep_iterates=True).plot()
