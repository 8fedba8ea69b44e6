"""Running means, medians and lines as models: identities, cross-validation, several outputs, columns, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import median_filter, uniform_filter1d

from didact.core.errors import InputError, ParameterError
from didact.linear_model import LinearRegression, LocallyWeightedRegression
from didact.neighbors import Regressogram, RunningLine, RunningMean, RunningMedian

ALL = (RunningMean, RunningMedian, RunningLine)
rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 121))
y = np.sin(x) + rng.normal(scale=0.2, size=121)
X = x[:, None]


# ------------------------------------------------------------------------------------------------ identities


def test_all_rows_in_one_window():
    new = [[-5.0], [2.2], [99.0]]
    np.testing.assert_allclose(RunningMean(n_neighbors=121).fit(X, y).predict(new), y.mean(), rtol=1e-13)
    np.testing.assert_allclose(RunningMedian(n_neighbors=121).fit(X, y).predict(new), np.median(y), rtol=1e-13)
    np.testing.assert_allclose(RunningMean(bandwidth=200.0).fit(X, y).predict(new), y.mean(), rtol=1e-13)
    np.testing.assert_allclose(
        RunningLine(n_neighbors=121).fit(X, y).predict(new), LinearRegression().fit(X, y).predict(new), rtol=1e-10
    )


def test_windows_of_one_row_give_the_rows_back():
    for cls in ALL:
        np.testing.assert_array_equal(cls(n_neighbors=1).fit(X, y).predict(X), y)
        np.testing.assert_array_equal(cls(bandwidth=1e-9).fit(X, y).predict(X), y)


@pytest.mark.parametrize("k", [3, 7, 20])
def test_running_lines_reproduce_lines_also_between_and_beyond_the_rows(k):
    model = RunningLine(n_neighbors=k).fit(X, 3.0 * x - 1.0)
    new = np.linspace(-4, 12, 77)
    np.testing.assert_allclose(model.predict(new[:, None]), 3.0 * new - 1.0, rtol=1e-8, atol=1e-8)
    wide = RunningLine(bandwidth=0.8).fit(X, 3.0 * x - 1.0)
    np.testing.assert_allclose(wide.predict(X), 3.0 * x - 1.0, rtol=1e-8, atol=1e-8)


def test_on_an_even_grid_they_are_the_filters_of_scipy():
    grid = np.arange(200.0)
    values = np.cumsum(rng.normal(size=200))
    inner = slice(4, -4)
    mean = RunningMean(n_neighbors=9).fit(grid[:, None], values).predict(grid[:, None])
    np.testing.assert_allclose(mean[inner], uniform_filter1d(values, 9)[inner], rtol=1e-10, atol=1e-10)
    median = RunningMedian(bandwidth=4.0).fit(grid[:, None], values).predict(grid[:, None])
    np.testing.assert_allclose(median[inner], median_filter(values, 9)[inner], rtol=1e-12)
    assert mean[0] == pytest.approx(values[:9].mean())  # moved inwards at the end
    assert median[0] == pytest.approx(np.median(values[:5]))  # cut off


def test_a_median_shrugs_off_what_a_mean_does_not():
    spoilt = y.copy()
    spoilt[::15] += 50.0
    median = RunningMedian(n_neighbors=15).fit(X, spoilt).predict(X)
    mean = RunningMean(n_neighbors=15).fit(X, spoilt).predict(X)
    assert np.abs(median - np.sin(x)).max() < 0.7
    assert np.abs(mean - np.sin(x)).max() > 3.0


def test_between_data_points():
    """The nearest place, of two the lower, is the middle of the window; lines are taken at the point itself."""
    grid, values = np.arange(5.0)[:, None], np.array([0.0, 10.0, 0.0, 30.0, 50.0])
    new = [[1.4], [1.5], [1.6]]
    assert RunningMean(n_neighbors=1).fit(grid, values).predict(new).tolist() == [10.0, 10.0, 0.0]
    assert RunningMean(bandwidth=0.55).fit(grid, values).predict(new).tolist() == [10.0, 5.0, 0.0]
    assert RunningMean(bandwidth=0.1).fit(grid, values).predict(new).tolist() == [10.0, 10.0, 0.0]  # empty windows
    line = RunningLine(n_neighbors=2).fit(grid, values).predict(new)
    np.testing.assert_allclose(line, [6.0, 5.0, -18.0 + 30 * 0.2])  # 10 → 0 at 1.4 and 1.5, then 0 → 30 at 1.6


def test_a_uniform_window_is_local_regression_of_degree_zero_and_one():
    """Means and lines of the rows within h, against the weighted fits of local regression with flat weights."""
    model = RunningLine(bandwidth=0.7).fit(X, y)
    for q in (0.1, 2.0, 5.5):
        near = np.abs(x - q) <= 0.7
        expected = LinearRegression().fit(X[near], y[near]).predict([[q]])
        np.testing.assert_allclose(model.predict([[q]]), expected, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ weights and ties


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("how", [{"n_neighbors": 7}, {"bandwidth": 0.4}, {"n_neighbors": "cv"}, {"bandwidth": "cv"}])
def test_weights_are_repeated_rows(cls, how):
    w = np.random.default_rng(1).integers(0, 4, 121)
    weighted = cls(**how).fit(X, y, sample_weight=w)
    repeated = cls(**how).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)
    if "cv" in how.values():
        np.testing.assert_allclose(weighted.cv_errors_[2:], repeated.cv_errors_[2:], rtol=1e-6)


# ------------------------------------------------------------------------------------------------ cross-validation


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("name", ["n_neighbors", "bandwidth"])
def test_the_width_is_chosen_by_leaving_out_rows(cls, name):
    grid = [3, 7, 15, 31] if name == "n_neighbors" else [0.1, 0.3, 0.9]
    few, targets = X[::3], y[::3]
    model = cls(**{name: "cv"}, grid=grid).fit(few, targets)
    slow = []
    for value in grid:
        fixed = cls(**{name: value})
        errors = [
            abs(targets[i] - fixed.fit(np.delete(few, i, 0), np.delete(targets, i)).predict(few[i : i + 1])[0])
            for i in range(len(few))
        ]
        slow.append(np.mean(errors) if cls is RunningMedian else np.mean(np.square(errors)))
    np.testing.assert_allclose(model.cv_errors_, slow, rtol=1e-8)
    assert getattr(model, f"{name}_") == grid[int(np.argmin(slow))]
    np.testing.assert_array_equal(model.grid_, grid)
    best = cls(**{name: grid[int(np.argmin(slow))]}).fit(few, targets)
    np.testing.assert_array_equal(model.predict(X), best.predict(X))


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("name", ["n_neighbors", "bandwidth"])
def test_the_default_grid_finds_a_good_width(cls, name):
    model = cls(**{name: "cv"}).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - np.sin(x)) ** 2)) < 0.12
    assert len(model.cv_errors_) > 10


def test_leave_one_out_is_at_hand():
    model = RunningMean(n_neighbors=5).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(model.x_fit_, x)
    slow = [
        RunningMean(n_neighbors=5).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in (0, 60)
    ]
    np.testing.assert_allclose(model.leave_one_out()[[0, 60]], slow, rtol=1e-12)


# ------------------------------------------------------------------------------------------------ outputs, columns


@pytest.mark.parametrize("cls", ALL)
def test_several_outputs_are_each_by_itself(cls):
    Y = np.column_stack([y, np.cos(x), -y])
    both = cls(n_neighbors=9).fit(X, Y).predict(X)
    assert both.shape == (121, 3)
    for j in range(3):
        np.testing.assert_array_equal(both[:, j], cls(n_neighbors=9).fit(X, Y[:, j]).predict(X))
    assert cls(n_neighbors=9).fit(X, Y[:, :1]).predict(X).shape == (121, 1)


def test_a_column_of_a_table():
    frame = pd.DataFrame({"noise": rng.normal(size=121), "age": x})
    alone = RunningMean(n_neighbors=9).fit(X, y).predict(X)
    np.testing.assert_array_equal(RunningMean(n_neighbors=9, column="age").fit(frame, y).predict(frame), alone)
    np.testing.assert_array_equal(RunningMean(n_neighbors=9, column=1).fit(frame, y).predict(frame), alone)


@pytest.mark.parametrize("cls", ALL)
def test_local_regression_is_near(cls):
    """No identity, but the same curve: a check of the scale of widths."""
    smooth = LocallyWeightedRegression(span=21, degree=0).fit(X, y).predict(X)
    assert np.corrcoef(cls(n_neighbors=15).fit(X, y).predict(X), smooth)[0, 1] > 0.97


@pytest.mark.parametrize("model", [cls(n_neighbors=5) for cls in ALL] + [Regressogram(bins=9)])
def test_tensors_give_tensors(model):
    torch = pytest.importorskip("torch")
    single = torch.as_tensor(X, dtype=torch.float32)
    got = model.fit(single, torch.as_tensor(y)).predict(single)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got.numpy(), model.fit(single.numpy(), y).predict(single.numpy()), rtol=1e-6)


def test_a_single_row_and_a_single_place():
    assert RunningMean().fit([[1.0]], [3.0]).predict([[7.0]]).tolist() == [3.0]
    for cls in ALL:
        model = cls().fit([[1.0], [1.0], [1.0]], [3.0, 3.0, 6.0])
        assert model.predict([[1.0], [2.0]]).tolist() == ([3.0, 3.0] if cls is RunningMedian else [4.0, 4.0])
        assert cls(bandwidth="cv").fit([[1.0], [1.0]], [3.0, 5.0]).predict([[0.0]]).tolist() == [4.0]


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(
    ("how", "table", "kind", "message"),
    [
        ({}, np.column_stack([x, x]), InputError, "smooths over one column, but X has 2"),
        ({"column": 5}, X, ParameterError, "column is 5"),
        ({"column": "age"}, X, ParameterError, "no column named 'age'"),
        ({"n_neighbors": 122}, X, InputError, r"above the number of distinct x, 121 \(n_samples = 121\)"),
        ({"grid": [1, 500]}, X, InputError, "above the number of distinct x"),
        ({"n_neighbors": 0}, X, ValueError, "n_neighbors"),
        ({"bandwidth": 0.0}, X, ValueError, "bandwidth"),
        ({"bandwidth": -1.0}, X, ValueError, "bandwidth"),
        ({"bandwidth": "cv", "grid": [0.0, 1.0]}, X, ParameterError, "grid must hold"),
        ({"grid": []}, X, ParameterError, "grid must hold"),
        ({"grid": [2.5]}, X, ParameterError, "grid must hold"),
    ],
)
def test_what_is_refused(cls, how, table, kind, message):
    with pytest.raises(kind, match=message):
        cls(**how).fit(table, y)


def test_ties_count_once_against_k():
    with pytest.raises(InputError, match=r"distinct x, 2 \(n_samples = 4\)"):
        RunningMean(n_neighbors=3).fit([[0.0], [0.0], [1.0], [1.0]], [1.0, 2.0, 3.0, 4.0])
