"""Gaussian process regression: conditional distributions, gradients, scikit-learn, means, inducing points, limits."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal
from sklearn import gaussian_process as theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from didact import Batches
from didact.core.errors import InputError, ParameterError
from didact.core.rows import MemoryRows, memory
from didact.core.threads import thread_count
from didact.engines.gram.inducing import bound
from didact.engines.gram.process import evidence
from didact.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from didact.gaussian_process import kernels as sk
from didact.gaussian_process.kernel_search import searched
from didact.kernels import RBF, Constant, Laplacian, Linear, Matern, Periodic, RationalQuadratic, StringSpectrum, White

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=60)
NEW = RNG.normal(size=(9, 3))
KERNEL = 1.3 * RBF((1.0, 2.0, 3.0)) + White(0.05)
OBJECTS = [
    sk.ConstantKernel(1.3) * sk.RBF([1.0, 2.0, 3.0]) + sk.WhiteKernel(0.05),
    sk.RBF(1.0, "fixed") * sk.ConstantKernel(2.0) + sk.DotProduct(1.3) + sk.WhiteKernel(0.1),
    sk.RationalQuadratic(1.0, 0.5, length_scale_bounds="fixed") * sk.ExpSineSquared(1.0, 9.0) + sk.WhiteKernel(0.1),
    sk.Matern([1.0, 2.0, 3.0], nu=2.5) ** 2 + sk.WhiteKernel(0.1),
    sk.PairwiseKernel(metric="rbf") + sk.WhiteKernel(0.1),
]


def conditional(K, noise, y, cross, own):
    """Mean and covariance of a Gaussian vector given another, by inverting."""
    inverse = np.linalg.inv(K + noise)
    return cross @ inverse @ y, own - cross @ inverse @ cross.T


@pytest.mark.parametrize("alpha", [0.1, np.linspace(0.05, 0.3, 60)])
def test_the_posterior_is_the_conditional_of_the_joint_distribution(alpha):
    kernel = 1.3 * RBF((1.0, 2.0, 3.0)) + 0.5 * Linear()
    model = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None).fit(X, Y)
    mean, covariance = conditional(kernel(X), np.diag(np.broadcast_to(alpha, 60)), Y, kernel(NEW, X), kernel(NEW))
    np.testing.assert_allclose(model.predict(NEW), mean, rtol=1e-10)
    np.testing.assert_allclose(model.predict(NEW, return_cov=True)[1], covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict(NEW, return_std=True)[1] ** 2, np.diagonal(covariance), rtol=1e-9)
    joint = multivariate_normal(np.zeros(60), kernel(X) + np.diag(np.broadcast_to(alpha, 60)))
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, joint.logpdf(Y), rtol=1e-10)


def test_one_point():
    """f(0) = 1, predicted at 1, without noise and with it."""
    for alpha, mean, variance in ((0.0, 0.606531, 0.632121), (0.1, 0.551392, 0.665564)):
        model = GaussianProcessRegressor(RBF(1.0), alpha=alpha, optimizer=None).fit([[0.0]], [1.0])
        found = model.predict([[1.0]], return_std=True)
        np.testing.assert_allclose([found[0][0], found[1][0] ** 2], [mean, variance], atol=1e-6)


def test_a_linear_kernel_is_bayesian_regression():
    model = GaussianProcessRegressor(Linear(), alpha=1.0, optimizer=None).fit([[1.0], [2.0]], [1.0, 3.0])
    mean, std = model.predict([[3.0]], return_std=True)
    np.testing.assert_allclose([mean[0], std[0] ** 2 + 1.0], [3.5, 2.5], rtol=1e-12)  # f, and the noise of y


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        0.7 * Matern((1.0, 2.0, 0.5), 2.5) * RBF(2.0) + White(0.3) + Constant(0.2),
        RationalQuadratic(1.2, 0.7) * Periodic(1.0, 3.0) + White(0.2) * RBF(1.0),
        (Laplacian((1.0, 2.0, 3.0)) + Linear()) ** 2 + White(0.3),
    ],
    ids=str,
)
@pytest.mark.parametrize("tiles", [False, True])
def test_the_gradient_is_that_of_differences(kernel, tiles, monkeypatch):
    if tiles:
        monkeypatch.setattr("didact.engines.gram.process.PULL_TILE", 16)
    targets, h = np.column_stack([Y, np.cos(Y), np.ones(60), X]), 1e-6
    for basis in (0, 4):
        columns = targets[:, : 2 + basis]

        def value(theta, columns=columns, basis=basis):
            return evidence(kernel.with_theta(theta), X, columns, basis, 0.01, gradient=False).value

        found = evidence(kernel, X, columns, basis, 0.01).gradient
        steps = h * np.eye(len(kernel.theta))
        numeric = [(value(kernel.theta + e) - value(kernel.theta - e)) / (2 * h) for e in steps]
        np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", OBJECTS, ids=str)
def test_a_kernel_of_scikit_learn_gives_its_numbers(kernel):
    ours, ref = (
        cls(kernel, alpha=1e-6, optimizer=None, normalize_y=True).fit(X, Y)
        for cls in (GaussianProcessRegressor, theirs.GaussianProcessRegressor)
    )
    for how in ({"return_std": True}, {"return_cov": True}):
        for a, b in zip(ours.predict(NEW, **how), ref.predict(NEW, **how), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    value, slope = ours.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    expected = ref.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    np.testing.assert_allclose(value, expected[0], rtol=1e-8)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.L_, ref.L_, atol=1e-8)
    np.testing.assert_allclose(ours.alpha_, ref.alpha_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.kernel_.theta, ref.kernel_.theta, rtol=1e-12, atol=1e-15)
    assert str(ours.kernel_) == str(ref.kernel_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", OBJECTS[:2], ids=str)
def test_the_likelihood_at_the_optimum_is_not_lower(kernel):
    ours, ref = (cls(kernel).fit(X, Y) for cls in (GaussianProcessRegressor, theirs.GaussianProcessRegressor))
    assert ours.log_marginal_likelihood_value_ >= ref.log_marginal_likelihood_value_ - 1e-4
    more = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(X, Y)
    assert more.log_marginal_likelihood_value_ >= ours.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood() == ours.log_marginal_likelihood_value_


def test_our_kernel_and_their_object_are_one_model():
    ours = GaussianProcessRegressor(KERNEL).fit(X, Y)
    other = GaussianProcessRegressor(OBJECTS[0]).fit(X, Y)
    np.testing.assert_allclose(ours.log_marginal_likelihood_value_, other.log_marginal_likelihood_value_, rtol=1e-6)
    assert isinstance(ours.kernel_, type(KERNEL))


def test_a_fixed_parameter_stays():
    search = searched(OBJECTS[2])
    assert search.theta.tolist() == OBJECTS[2].theta.tolist()
    moved = search.at(search.theta + 0.5)
    np.testing.assert_allclose(moved.kernel.gram(X), moved.source(X), atol=1e-10)
    assert moved.source.k1.k1.length_scale == 1.0


def test_an_unknown_linear_mean_is_a_very_wide_prior():
    """K + s(1 + xxᵀ) for large s: the same predictions, and the restricted likelihood up to its constant."""
    wide, s = KERNEL + 1e6 * (Linear() + 1), 1e6
    model = GaussianProcessRegressor(KERNEL, mean="linear", optimizer=None).fit(X, Y)
    limit = GaussianProcessRegressor(wide, optimizer=None).fit(X, Y)
    for a, b in zip(model.predict(NEW, return_std=True), limit.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
    basis = model._mean.basis  # columns that differ from [1, x] by an invertible matrix
    shift = -0.5 * 4 * np.log(2 * np.pi * s) - np.linalg.slogdet(basis)[1] * -1.0
    np.testing.assert_allclose(
        limit.log_marginal_likelihood_value_, model.log_marginal_likelihood_value_ + shift, atol=1e-2
    )
    np.testing.assert_allclose(model.mean_coef_.shape, (4,))


def test_a_shifted_target_shifts_a_process_with_constant_mean():
    kernel = RBF(1.0) + White(0.1)
    one = GaussianProcessRegressor(kernel, mean="constant").fit(X, Y)
    two = GaussianProcessRegressor(kernel, mean="constant").fit(X, Y + 100.0)
    np.testing.assert_allclose(two.predict(NEW), one.predict(NEW) + 100.0, rtol=1e-6)
    np.testing.assert_allclose(two.mean_coef_, one.mean_coef_ + 100.0, rtol=1e-6)


def test_a_mean_that_is_fitted_or_given_is_added():
    line = LinearRegression().fit(X, Y)
    plain = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y - line.predict(X))
    for mean in (LinearRegression(), line.predict):
        model = GaussianProcessRegressor(KERNEL, mean=mean, optimizer=None).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW) + line.predict(NEW), rtol=1e-10)
    far = GaussianProcessRegressor(mean=line.predict).predict(NEW)  # the prior
    np.testing.assert_allclose(far, line.predict(NEW))


def test_several_targets_are_processes_with_one_kernel():
    both = GaussianProcessRegressor(KERNEL, mean="constant", optimizer=None).fit(X, np.column_stack([Y, np.cos(Y)]))
    single = [GaussianProcessRegressor(KERNEL, mean="constant", optimizer=None).fit(X, t) for t in (Y, np.cos(Y))]
    mean, std = both.predict(NEW, return_std=True)
    for t, one in enumerate(single):
        np.testing.assert_allclose(mean[:, t], one.predict(NEW), rtol=1e-9)
        np.testing.assert_allclose(std[:, t], one.predict(NEW, return_std=True)[1], rtol=1e-9)
    total = sum(one.log_marginal_likelihood_value_ for one in single)
    np.testing.assert_allclose(both.log_marginal_likelihood_value_, total, rtol=1e-10)
    assert both.sample_y(NEW, 4).shape == (9, 2, 4)
    assert both.predict(NEW, return_cov=True)[1].shape == (9, 9, 2)


def test_draws_have_the_mean_and_covariance():
    x = np.linspace(0, 3, 6)[:, None]
    for model in (
        GaussianProcessRegressor(RBF()),
        GaussianProcessRegressor(RBF(), optimizer=None).fit(x[::2], x[::2, 0]),
    ):
        mean, covariance = model.predict(x, return_cov=True)
        draws = model.sample_y(x, 40_000, random_state=1)
        assert draws.shape == (6, 40_000)
        np.testing.assert_allclose(draws.mean(axis=1), mean, atol=6 / 200)
        np.testing.assert_allclose(np.cov(draws), covariance, atol=6 * 1.5 / 200)
        np.testing.assert_array_equal(draws, model.sample_y(x, 40_000, random_state=1))


def test_intervals_hold_what_they_promise():
    """New y of the model itself, at a level of 80%: a binomial share within five standard deviations."""
    kernel = RBF(1.0) + White(0.3)
    x = np.sort(RNG.uniform(0, 10, 600))[:, None]
    y = np.linalg.cholesky(kernel(x)) @ np.random.default_rng(3).normal(size=600)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(x[::2], y[::2])
    low, high = model.predict_interval(x[1::2], level=0.8).T
    assert abs(((low <= y[1::2]) & (y[1::2] <= high)).mean() - 0.8) < 5 * np.sqrt(0.16 / 300)
    inner = model.predict_interval(x[1::2], level=0.8, noise=False)
    assert (inner[:, 1] - inner[:, 0] < high - low).all()


def test_intervals_with_a_variance_for_each_fitted_row_ask_for_that_of_new_rows():
    """The variances of new rows are added where they are given; without them there is no interval of y."""
    kernel, alpha = KERNEL, np.linspace(0.1, 0.9, 60)
    model = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, normalize_y=True).fit(X, Y)
    with pytest.raises(ParameterError, match="the noise of these rows is not known: give noise=variances"):
        model.predict_interval(NEW)
    std, new = model.predict(NEW, return_std=True)[1], np.linspace(0.2, 0.4, 9)
    width = np.diff(model.predict_interval(NEW, level=0.6826894921370859, noise=new), axis=1)[:, 0] / 2
    np.testing.assert_allclose(width**2, std**2 + new * Y.var(), rtol=1e-9)
    one = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None).fit(X, Y)
    np.testing.assert_array_equal(one.predict_interval(NEW), one.predict_interval(NEW, noise=0.3))
    inner = one.predict_interval(NEW, noise=False)
    assert (np.diff(inner) < np.diff(one.predict_interval(NEW, noise=0.0))).all()  # which has the kernel's own noise
    for bad, sentence in ((new[:4], "noise has 4 variances for 9 rows"), (-1.0, "finite and not negative")):
        with pytest.raises(ParameterError, match=sentence):
            model.predict_interval(NEW, noise=bad)


def test_predictions_in_pieces_are_those_of_all_rows_and_need_little_memory(monkeypatch):
    """Of 20,000 new rows and 400 fitted ones all values of the kernel are 64 MB, and of each piece 8."""
    rng = np.random.default_rng(5)
    rows, new = rng.normal(size=(400, 3)), rng.normal(size=(20_000, 3))
    model = GaussianProcessRegressor(KERNEL, alpha=0.1, mean="linear", optimizer=None).fit(rows, rows[:, 0])
    classes = GaussianProcessClassifier(KERNEL, optimizer=None).fit(rows, rows[:, 0] > 0)
    asked = (
        model.predict,
        lambda A: model.predict(A, return_std=True)[1],
        model.predict_interval,
        classes.predict_proba,
    )
    for predict in asked:
        predict(new[:2000])
        tracemalloc.start()
        found = predict(new)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < (1 + thread_count()) * 40e6
        np.testing.assert_allclose(found[-50:], predict(new[-50:]), rtol=1e-9, atol=1e-9)


def test_the_evidence_is_a_number_of_numpy():
    found = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y), GaussianProcessClassifier().fit(X, Y > 0)
    assert all(isinstance(model.log_marginal_likelihood_value_, np.float64) for model in found)
    assert isinstance(found[1].base_estimator_.log_marginal_likelihood_value_, np.float64)


def test_matrices_that_exceed_the_memory_are_refused_in_a_sentence(monkeypatch):
    model = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y)
    monkeypatch.setattr(memory, "memory_limit", lambda: 8 * 59**2)
    asked = [
        lambda: GaussianProcessRegressor(KERNEL).fit(X, Y),
        lambda: GaussianProcessClassifier(KERNEL).fit(X, Y > 0),
        lambda: model.predict(X, return_cov=True),
        lambda: model.sample_y(X),
        lambda: GaussianProcessRegressor(KERNEL).sample_y(X),
    ]
    for ask in asked:
        with pytest.raises(InputError, match=r"need .* of 60 × 60 numbers"):
            ask()
    model.predict(X, return_std=True)
    GaussianProcessRegressor(KERNEL, inducing=10, optimizer=None, random_state=0).fit(X, Y)


# Inducing points


def read(block):
    return block.X, np.column_stack([block.y, np.ones(len(block.X))]), 0.01


def test_the_bound_is_below_the_evidence_and_meets_it_at_all_rows():
    rows, targets = MemoryRows(X, Y), np.column_stack([Y, np.ones(60)])
    exact = evidence(KERNEL, X, targets, 1, 0.01).value
    values = [bound(rows, read, KERNEL, Z, 1).value for Z in (X[:5], X[:20], X)]
    assert values[0] < values[1] < values[2] <= exact
    np.testing.assert_allclose(values[2], exact, atol=1e-5)


@pytest.mark.parametrize("kernel", [KERNEL, 0.5 * Matern(1.0, 2.5) * RBF((1.0, 2.0, 3.0)) + White(0.1) + 0.3], ids=str)
def test_the_gradient_of_the_bound_is_that_of_differences(kernel):
    rows, h = MemoryRows(X, Y), 1e-5
    found = bound(rows, read, kernel, X[:12] + 0.1, 1).gradient

    def value(theta):
        return bound(rows, read, kernel.with_theta(theta), X[:12] + 0.1, 1, gradient=False).value

    numeric = [(value(kernel.theta + e) - value(kernel.theta - e)) / (2 * h) for e in h * np.eye(len(kernel.theta))]
    np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("mean", ["zero", "linear"])
def test_inducing_points_at_all_rows_are_the_exact_model(mean):
    model = GaussianProcessRegressor(KERNEL, inducing=X, mean=mean, optimizer=None).fit(X, Y)
    exact = GaussianProcessRegressor(KERNEL, mean=mean, optimizer=None).fit(X, Y)
    for a, b in zip(model.predict(NEW, return_std=True), exact.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(
        model.predict(NEW, return_cov=True)[1], exact.predict(NEW, return_cov=True)[1], atol=1e-6
    )
    assert not hasattr(model, "X_train_")


def test_a_few_points_learn_a_smooth_function_of_many_rows():
    x = RNG.uniform(-3, 3, size=(4000, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * RNG.normal(size=4000)
    model = GaussianProcessRegressor(1.0 * RBF(2.0) + White(1.0), inducing=20, random_state=0).fit(x, y)
    grid = np.linspace(-2.8, 2.8, 50)[:, None]
    assert abs(model.predict(grid) - np.sin(2 * grid[:, 0])).max() < 0.06  # 20 rows a degree of freedom: sd 0.015
    assert abs(model.kernel_.right.noise - 0.04) < 0.01  # its standard error is 0.04·√(2/4000) = 0.001
    batches = Batches(lambda: ((x[k : k + 900], y[k : k + 900]) for k in range(0, 4000, 900)))
    points = model.inducing_points_
    for data in ((x, y), (batches,)):
        other = GaussianProcessRegressor(model.kernel_, inducing=points, optimizer=None).fit(*data)
        np.testing.assert_allclose(other.predict(grid), model.predict(grid), rtol=1e-6, atol=1e-8)


# Kinds of input, and bad input


def test_a_process_that_is_switched_off_is_said():
    """Five points near each other carry no function of three columns from widths of 1: all becomes noise."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    y = 2 * rows[:, 0] + np.sin(rows[:, 1]) + 0.3 * rng.normal(size=60)
    with pytest.warns(ConvergenceWarning, match="nearly all is noise"):
        GaussianProcessRegressor(1.0 * RBF() + White(0.1), inducing=rows[:5] * 1e-3).fit(rows, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianProcessRegressor(1.0 * RBF() + White(0.1), inducing=20, random_state=0).fit(rows, y)


def test_tensors_and_sparse_rows_give_the_answer_of_arrays():
    torch = pytest.importorskip("torch")
    for more in ({}, {"inducing": X[:9], "mean": "linear"}):
        model = GaussianProcessRegressor(KERNEL, optimizer=None, **more).fit(X, Y)
        tensor = GaussianProcessRegressor(KERNEL, optimizer=None, **more).fit(torch.asarray(X), torch.asarray(Y))
        mean, std = tensor.predict(torch.asarray(NEW), return_std=True)
        assert isinstance(mean, torch.Tensor)
        expected = model.predict(NEW, return_std=True)
        np.testing.assert_allclose(mean.numpy(), expected[0], rtol=1e-8)
        np.testing.assert_allclose(std.numpy(), expected[1], rtol=1e-8)
        sparse = GaussianProcessRegressor(KERNEL, optimizer=None, **more).fit(sp.csr_array(X), Y)
        np.testing.assert_allclose(sparse.predict(sp.csr_array(NEW)), expected[0], rtol=1e-8)


def test_strings_have_a_process():
    texts, y = ["abab", "baba", "cccc", "abcc", "ccab", "abba"], [1.0, 1.0, 0.0, 0.5, 0.5, 1.0]
    model = GaussianProcessRegressor(StringSpectrum(2), alpha=0.1, mean="constant").fit(texts, y)
    mean, std = model.predict(["abab", "cccc", "zzzz"], return_std=True)
    assert mean[0] > mean[2] > mean[1]
    assert std[2] > std[0]
    np.testing.assert_allclose(mean[2], model.mean_coef_[0])


def test_a_function_is_a_kernel():
    model = GaussianProcessRegressor(lambda A, B: RBF(1.5)(A, B), alpha=0.1).fit(X, Y)
    expected = GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None).fit(X, Y)
    for a, b in zip(model.predict(NEW, return_std=True), expected.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_matrix_is_a_function_of_row_numbers():
    G = RBF(1.5)(np.vstack([X, NEW]))
    numbers = np.arange(len(G))[:, None]
    given = GaussianProcessRegressor(lambda A, B: G[A[:, 0].astype(int)][:, B[:, 0].astype(int)], alpha=0.1)
    given.fit(numbers[: len(X)], Y)
    expected = GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None).fit(X, Y)
    found = given.predict(numbers[len(X) :], return_std=True)
    for a, b in zip(found, expected.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"kernel": lambda A, B: -(A @ B.T)}, "not returning a positive definite matrix"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"kernel": lambda A, B: A}, "returned shape"),
        ({"alpha": np.ones(7)}, "7 != 60"),
        ({"alpha": -np.ones(60)}, "not negative"),
        ({"n_targets": 3}, "n_targets"),
        ({"mean": lambda A: A}, "mean function"),
        ({"inducing": np.ones((4, 2))}, "columns"),
        ({"kernel": OBJECTS[4], "inducing": 5}, "Inducing points"),
        ({"kernel": RBF((1.0, 2.0))}, "2 widths"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(params, words):
    with pytest.raises((InputError, ParameterError), match=words):
        GaussianProcessRegressor(**params).fit(X, Y)


def test_other_refusals():
    model = GaussianProcessRegressor(KERNEL, optimizer=None).fit(X, Y)
    with pytest.raises(ParameterError, match="level"):
        model.predict_interval(NEW, level=1.5)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(NEW, return_std=True, return_cov=True)
    with pytest.raises(ParameterError, match="5 parameters"):
        model.log_marginal_likelihood([1.0])
    with pytest.raises(InputError, match="overflow"):
        model.fit(np.where(X > 2, 1e160, X), Y)
    with pytest.raises(InputError, match="NaN"):
        model.fit(np.where(X > 2, np.nan, X), Y)
    with pytest.warns(ConvergenceWarning, match="close to the specified upper bound"):
        GaussianProcessRegressor(sk.RBF(1.0, (1e-2, 1.5)), alpha=0.1).fit(X, X[:, 0])
