"""Running means, medians and lines: the public smoothers over one column."""

from didact.core.parameters import attr
from didact.neighbors.running_base import _Running


class RunningMean(_Running):
    r"""Running means: the mean of the rows around x.

    .. math:: \hat y(x) = \frac{\sum_{i\in W(x)} w_i y_i}{\sum_{i\in W(x)} w_i}

    Notes
    -----
    Places are the distinct values of x. With a bandwidth h the window holds those with ``|x_i − x| ≤ h``, or the
    nearest one if there are none. With k places it holds the nearest place (of two equally near the lower) and as many
    below as above it, one more above if k is even; at the ends it is moved inwards. Between data points the same rule
    holds, so that the curve jumps where a row enters or leaves the window. Leave-one-out leaves out one copy of a row
    of weight w, where weights count in units of the smallest one if all are whole multiples of it, else have mean 1.
    Cost: O(n log n) to sort, O(n) for a call of `predict` and O(log n) for each of its rows, O(n log n) for each
    candidate. Shape of computation: sort.

    References
    ----------
    Härdle (1990), doi:10.1017/CCOL0521382483.

    Examples
    --------
    >>> from didact.neighbors import RunningMean
    >>> model = RunningMean(n_neighbors=3).fit([[1.0], [2.0], [3.0], [9.0]], [1.0, 2.0, 6.0, 7.0])
    >>> model.predict([[2.0], [8.0]])
    array([3., 5.])
    """

    _kind = "mean"


class RunningMedian(_Running):
    r"""Running medians: the median of the rows around x, which outliers do not move.

    .. math:: \hat y(x) = \mathrm{median}\{y_i : i \in W(x)\}

    Notes
    -----
    Places are the distinct values of x. With a bandwidth h the window holds those with ``|x_i − x| ≤ h``, or the
    nearest one if there are none. With k places it holds the nearest place (of two equally near the lower) and as many
    below as above it, one more above if k is even; at the ends it is moved inwards. Between data points the same rule
    holds, so that the curve jumps where the median changes. Leave-one-out leaves out one copy of a row of weight w,
    where weights count in units of the smallest one if all are whole multiples of it, else so that their mean is 1. The
    median of an even number of rows is the mean of the middle two. Cost: O(n log n) to sort, for a call of `predict`
    and for each candidate: O(log n) for each row that enters or leaves the window. Shape of computation: sort.

    References
    ----------
    Tukey (1977), Exploratory data analysis; Härdle, Steiger (1995), doi:10.2307/2986349.

    Examples
    --------
    >>> from didact.neighbors import RunningMedian
    >>> model = RunningMedian(bandwidth=1.0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 90.0, 4.0])
    >>> model.predict([[2.0], [3.0]])
    array([2., 4.])
    """

    _attrs = [attr("cv_errors_", "ndarray", "Their mean absolute leave-one-out errors.", when="_searches")]

    _kind = "median"


class RunningLine(_Running):
    r"""Running lines: the least-squares line through the rows around x.

    .. math:: \hat y(x) = \bar y + \frac{S_{xy}}{S_{xx}}(x - \bar x)\quad\text{over the rows in } W(x)

    Notes
    -----
    Places are the distinct values of x. With a bandwidth h the window holds those with ``|x_i − x| ≤ h``, or the
    nearest one if there are none. With k places it holds the nearest place (of two equally near the lower) and as many
    below as above it, one more above if k is even; at the ends it is moved inwards. Between data points the same rule
    holds, and the line of the window is taken at x itself, also beyond the ends. Leave-one-out leaves out one copy of a
    row of weight w, where weights count in units of the smallest one if all are whole multiples of it, else have
    mean 1. A window of one place gives its mean. Cost: O(n log n) to sort, O(n) for a call of `predict` and O(log n)
    for each of its rows. Shape of computation: sort.

    References
    ----------
    Hastie, Tibshirani (1986), doi:10.1214/ss/1177013604; Friedman (1984), A variable span smoother.

    Examples
    --------
    >>> from didact.neighbors import RunningLine
    >>> model = RunningLine(n_neighbors=3).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 5.0])
    >>> model.predict([[2.5], [10.0]])
    array([ 2.5       , 13.83333333])
    """

    _kind = "line"
    _least = 3
