"""NIST's certified nonlinear regressions (StRD): data, starts, certified parameters and standard errors.

National Institute of Standards and Technology, Statistical Reference Datasets, Nonlinear Least Squares Regression,
https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml (public domain); the files in nist/ are as NIST publishes them.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parent / "nist"


def rational(x, *b):
    """Numerator with (k+1)/2 coefficients, denominator 1 + the rest."""
    top = (len(b) + 1) // 2
    return np.polyval(b[:top][::-1], x) / (1 + x * np.polyval(b[top:][::-1], x))


def gauss(x, b1, b2, b3, b4, b5, b6, b7, b8):
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-(((x - b4) / b5) ** 2)) + b6 * np.exp(-(((x - b7) / b8) ** 2))


def lanczos(x, b1, b2, b3, b4, b5, b6):
    return b1 * np.exp(-b2 * x) + b3 * np.exp(-b4 * x) + b5 * np.exp(-b6 * x)


def chwirut(x, b1, b2, b3):
    return np.exp(-b1 * x) / (b2 + b3 * x)


def enso(x, b1, b2, b3, b4, b5, b6, b7, b8, b9):
    t = 2 * np.pi * x
    year = b2 * np.cos(t / 12) + b3 * np.sin(t / 12)
    return b1 + year + b5 * np.cos(t / b4) + b6 * np.sin(t / b4) + b8 * np.cos(t / b7) + b9 * np.sin(t / b7)


def growth(x, b1, b2):
    return b1 * (1 - np.exp(-b2 * x))


MODELS = {
    "Bennett5": lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
    "BoxBOD": growth,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "ENSO": enso,
    "Eckerle4": lambda x, b1, b2, b3: b1 / b2 * np.exp(-0.5 * ((x - b3) / b2) ** 2),
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": rational,
    "Kirby2": rational,
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x * x + b2 * x) / (x * x + b3 * x + b4),
    "MGH10": lambda x, b1, b2, b3: b1 * np.exp(b2 / (x + b3)),
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * np.exp(-x * b4) + b3 * np.exp(-x * b5),
    "Misra1a": growth,
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** -2),
    "Misra1c": lambda x, b1, b2: b1 * (1 - (1 + 2 * b2 * x) ** -0.5),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x / (1 + b2 * x),
    "Nelson": lambda x, b1, b2, b3: b1 - b2 * x[:, 0] * np.exp(-b3 * x[:, 1]),
    "Rat42": lambda x, b1, b2, b3: b1 / (1 + np.exp(b2 - b3 * x)),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + np.exp(b2 - b3 * x)) ** (1 / b4),
    "Roszman1": lambda x, b1, b2, b3, b4: b1 - b2 * x - np.arctan(b3 / (x - b4)) / np.pi,
    "Thurber": rational,
}


class Problem(NamedTuple):
    model: Any
    x: np.ndarray
    y: np.ndarray
    starts: tuple
    certified: np.ndarray
    errors: np.ndarray
    sum_of_squares: float


def load(name):
    """A problem by its name."""
    text = (FOLDER / f"{name}.dat").read_text()
    rows = [re.split(r"\s+", match.strip()) for match in re.findall(r"^\s*b\d+ = (.*)$", text, re.MULTILINE)]
    table = np.array(rows, float)
    data = np.array([line.split() for line in text[text.rindex("Data:") :].splitlines()[1:] if line.strip()], float)
    y = np.log(data[:, 0]) if name == "Nelson" else data[:, 0]
    x = data[:, 1:] if data.shape[1] > 2 else data[:, 1]
    total = float(re.search(r"Residual Sum of Squares:\s+(\S+)", text)[1])
    return Problem(MODELS[name], x, y, (table[:, 0], table[:, 1]), table[:, 2], table[:, 3], total)


def digits(estimate, certified):
    """The fewest correct digits of any entry: NIST's log relative error."""
    with np.errstate(divide="ignore"):
        return float(np.min(np.minimum(-np.log10(np.abs(estimate - certified) / np.abs(certified)), 15)))
