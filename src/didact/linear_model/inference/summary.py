"""The printed summary of an inference: facts of the fit in two columns, then the table of coefficients."""

from typing import Any

import numpy as np

WIDTH = 78
COLUMNS = ("name", "coefficient", "standard_error", "statistic", "p_value", "lower", "upper")


def frame(result: Any, level: float) -> dict[str, Any]:
    """The table of coefficients as columns."""
    low, high = result.interval(level).T
    values = (list(result.names), result.coefficients, result.standard_errors, result.statistics, result.p_values)
    return dict(zip(COLUMNS, (*values, low, high), strict=True))


def text(result: Any, level: float) -> str:
    """The summary as text."""
    table = _table(result, level)
    rule = "=" * max(WIDTH, len(table[0]))
    return "\n".join(
        [rule, *_pairs(result, len(rule)), rule, table[0], "-" * len(rule), *table[1:], rule, _note(result)]
    )


def _pairs(result: Any, width: int) -> list[str]:
    source = result._source
    least_squares = source.point.least_squares
    test = result.f_test if result.df_model > 0 else None
    left = [
        ("Model", type(source.model).__name__),
        ("Family", _family(source.point)),
        ("Link", "softmax" if source.point.several else _name(source.point.loss.link)),
        ("Covariance", result.covariance_type),
        ("Observations", _number(result.n)),
        ("Residual df", _number(result.df_residual)),
        ("Model df", _number(result.df_model)),
        ("Residual std. error" if least_squares else "Dispersion", _dispersion(result, least_squares)),
    ]
    right = [
        ("Log-likelihood", _number(result.log_likelihood)),
        ("Null log-likelihood", _number(result.null_log_likelihood)),
        ("AIC", _number(result.aic)),
        ("BIC", _number(result.bic)),
    ]
    if least_squares:
        right += [("R²", f"{result.r_squared:.4f}"), ("Adjusted R²", f"{result.adjusted_r_squared:.4f}")]
    else:
        right += [("Deviance", _number(result.deviance)), ("Null deviance", _number(result.null_deviance))]
    if test is not None:
        degrees = f"{_number(test.df)}, {_number(test.df_residual)}" if result.uses_t else _number(test.df)
        right += [(f"{'F' if result.uses_t else 'Wald χ²'}({degrees})", _number(test.statistic))]
        right += [(f"P({'F' if result.uses_t else 'χ²'})", _p_value(test.p_value))]
    right += [("", "")] * (len(left) - len(right))
    half = width // 2 - 1
    return [f"{_entry(a, half)}  {_entry(b, half)}".rstrip() for a, b in zip(left, right, strict=True)]


def _dispersion(result: Any, least_squares: bool) -> str:
    if least_squares:
        return _number(np.sqrt(result.dispersion))
    return _number(result.dispersion) + (" (estimated)" if result._source.facts.estimated else "")


def _entry(pair: tuple[str, str], width: int) -> str:
    label, value = pair
    return f"{label + ':' if label else ''}{value:>{width - len(label) - bool(label)}}"


def _family(point: Any) -> str:
    family = point.family
    values = ", ".join(f"{k}={_number(v)}" for k, v in family._asdict().items())
    return f"{_name(family)}({values})" if values else _name(family)


def _name(noun: Any) -> str:
    return type(noun).__name__


def _table(result: Any, level: float) -> list[str]:
    letter = "t" if result.uses_t else "z"
    ends = f"[{0.5 - 0.5 * level:.4g}", f"{0.5 + 0.5 * level:.4g}]"
    width = min(max(11, *(len(n) for n in result.names)), 40)
    head = _line("", width, "coef", "std err", letter, f"P>|{letter}|", *ends)
    lines = [head]
    for name, b, s, t, p, low, high in zip(*frame(result, level).values(), strict=True):
        short = name if len(name) <= width else name[: width - 1] + "…"
        lines.append(_line(short, width, _fixed(b), _fixed(s), _fixed(t, 3), _p_value(p), _fixed(low), _fixed(high)))
    return lines


def _line(name: str, width: int, b: str, s: str, t: str, p: str, low: str, high: str) -> str:
    return f"{name:<{width}} {b:>11} {s:>11} {t:>9} {p:>7} {low:>11} {high:>11}"


def _note(result: Any) -> str:
    source = result._source
    reference = "normal" if not result.uses_t else f"t with {_number(result.df_inference)} degrees of freedom"
    kind = "" if result.covariance_type == "model" else f"; standard errors are {result.covariance_type}"
    classes = f"; classes are compared with {source.reference}" if source.point.several else ""
    return f"Reference distribution: {reference}{kind}{classes}."


def _number(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) and value == round(value) and abs(value) < 1e12 else f"{value:.5g}"


def _fixed(value: float, digits: int = 4) -> str:
    """A number with some decimals where that shows it, else in scientific notation."""
    size = abs(value)
    return f"{value:.{digits}f}" if size == 0 or 10.0**-digits * 10 <= size < 1e5 else f"{value:.3g}"


def _p_value(p: float) -> str:
    return "<2e-16" if p < 2e-16 else (f"{p:.3f}" if p >= 0.001 else f"{p:.1e}")
