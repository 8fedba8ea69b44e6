"""NIST's certified linear regressions (StRD): coefficients, standard errors, residual deviation, R² and F.

Data and certified values: National Institute of Standards and Technology, Statistical Reference Datasets,
https://www.itl.nist.gov/div898/strd/lls/lls.shtml (public domain). Norris, Pontius, Filip and Longley are in nist/;
NoInt1, NoInt2 and Wampler1–5 follow from their published definitions. Digits are counted as NIST does: the log relative
error −log₁₀|estimate − certified|/|certified|.

The estimates are the exact solutions for the stored numbers up to a few units of the last place, on every CPU; so the
digits below are those that the certified values have (15), less what rounding the data to binary costs (Norris 1,
Pontius 2, and Filip, whose condition number is 1e10, 8).
"""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import dask.array as da
import numpy as np
import pytest

from didact import Batches
from didact.linear_model import LinearRegression

FOLDER = Path(__file__).parent / "nist"
STEPS = np.arange(21.0)
WAVE = np.array([759, *[-2048, 2048, -2048, 2523], *[-2048, 2048, -2048, 1838] * 2, *[-2048, 2048, -2048, 2523],
                 *[-2048, 2048, -2048, 759]], float)  # fmt: skip
WAMPLER = [2152.32624678170, 2363.55173469681, 779.343524331583, 101.475507550350, 5.64566512170752, 0.112324854679312]


class Certified(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    coef: list
    error: list
    deviation: float
    r_squared: float
    F: float
    digits: float  # of the coefficients
    error_digits: float
    intercept: bool = True


def table(name, degree):
    rows = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)
    if degree is None:
        return rows[:, 1:], rows[:, 0]
    exact = [Fraction(repr(float(x))) for x in rows[:, 1]]  # powers of NumPy are right to a unit or two of the CPU's
    return np.array([[float(x**d) for d in range(1, degree + 1)] for x in exact]), rows[:, 0]


def wampler(coef, noise):
    powers = STEPS[:, None] ** np.arange(6)
    y = np.round(powers @ coef, 5) + noise * WAVE
    return powers[:, 1:], y


PROBLEMS = {
    "Norris": Certified(
        *table("norris", 1), [-0.262323073774029, 1.00211681802045], [0.232818234301152, 0.429796848199937e-3],
        0.884796396144373, 0.999993745883712, 5436385.54079785, 13.5, 12,
    ),
    "Pontius": Certified(
        *table("pontius", 2), [0.673565789473684e-3, 0.732059160401003e-6, -0.316081871345029e-14],
        [0.107938612033077e-3, 0.157817399981659e-9, 0.486652849992036e-16],
        0.205177424076185e-3, 0.999999900178537, 185330865.995752, 13, 10,
    ),
    "NoInt1": Certified(
        np.arange(60.0, 71.0)[:, None], np.arange(130.0, 141.0), [2.07438016528926], [0.165289256198347e-1],
        3.56753034006338, 0.999365492298663, 15750.25, 14, 13, False,
    ),
    "NoInt2": Certified(
        np.array([[4.0], [5.0], [6.0]]), np.array([3.0, 4.0, 4.0]), [0.727272727272727], [0.420827318078432e-1],
        0.369274472937998, 0.993348115299335, 298.666666666667, 14, 13, False,
    ),
    "Filip": Certified(
        *table("filip", 10),
        [-1467.48961422980, -2772.17959193342, -2316.37108160893, -1127.97394098372, -354.478233703349,
         -75.1242017393757, -10.8753180355343, -1.06221498588947, -0.670191154593408e-1, -0.246781078275479e-2,
         -0.402962525080404e-4],
        [298.084530995537, 559.779865474950, 466.477572127796, 227.204274477751, 71.6478660875927, 15.2897178747400,
         2.23691159816033, 0.221624321934227, 0.142363763154724e-1, 0.535617408889821e-3, 0.896632837373868e-5],
        0.334801051324544e-2, 0.996727416185620, 2162.43954511489, 7, 6.5,
    ),
    "Longley": Certified(
        *table("longley", None),
        [-3482258.63459582, 15.0618722713733, -0.358191792925910e-1, -2.02022980381683, -1.03322686717359,
         -0.511041056535807e-1, 1829.15146461355],
        [890420.383607373, 84.9149257747669, 0.334910077722432e-1, 0.488399681651699, 0.214274163161675,
         0.226073200069370, 455.478499142212],
        304.854073561965, 0.995479004577296, 330.285339234588, 14, 11,
    ),
    "Wampler3": Certified(
        *wampler(np.ones(6), 1.0), [1.0] * 6, WAMPLER, 2360.14502379268, 0.999995559025820, 675524.458240122, 14.5, 9,
    ),
    "Wampler4": Certified(
        *wampler(np.ones(6), 1e2), [1.0] * 6, [1e2 * e for e in WAMPLER], 236014.502379268, 0.957478440825662,
        67.5524458240122, 14.5, 9,
    ),
    "Wampler5": Certified(
        *wampler(np.ones(6), 1e4), [1.0] * 6, [1e4 * e for e in WAMPLER], 23601450.2379268, 0.224668921574940e-2,
        6.75524458240122e-3, 14.5, 9,
    ),
}  # fmt: skip


def digits(estimate, certified):
    """The smallest log relative error of some numbers."""
    certified = np.asarray(certified, float)
    return float(-np.log10(np.max(np.abs(estimate - certified) / np.abs(certified)) + 1e-16))


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_values(name):
    p = PROBLEMS[name]
    model = LinearRegression(fit_intercept=p.intercept).fit(p.X, p.y)
    result = model.inference(p.X, p.y)
    assert model.rank_ == p.X.shape[1]
    assert digits(result.coefficients, p.coef) >= p.digits
    assert digits(result.standard_errors, p.error) >= p.error_digits
    assert digits(np.sqrt(result.dispersion), p.deviation) >= 7
    assert digits(result.r_squared, p.r_squared) >= 7
    assert digits(result.f_test.statistic, p.F) >= 7


@pytest.mark.parametrize(
    ("coef", "least"), [(np.ones(6), 14.5), (0.1 ** np.arange(6), 12.5)], ids=["Wampler1", "Wampler2"]
)
def test_polynomials_without_noise(coef, least):
    X, y = wampler(coef, 0.0)
    result = LinearRegression().fit(X, y).inference(X, y)
    assert digits(result.coefficients, coef) >= least
    assert result.standard_errors.max() < 1e-7
    assert result.r_squared == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("name", ["Filip", "Longley", "Wampler5"])
def test_rows_in_batches_and_on_a_cluster_are_as_exact(name):
    p = PROBLEMS[name]
    batches = Batches(lambda: ((p.X[i : i + 5], p.y[i : i + 5]) for i in range(0, len(p.X), 5)))
    lazy = [da.from_array(a, chunks=(7, *a.shape[1:])) for a in (p.X, p.y)]
    for data in ((batches,), lazy):
        model = LinearRegression().fit(*data)
        assert digits(np.append(model.intercept_, model.coef_), p.coef) >= p.digits
