r"""How many components: criteria and held-out likelihoods along a path of numbers of components.

.. math:: \mathrm{AIC} = -2\ell + 2m,\qquad \mathrm{BIC} = -2\ell + m\log n

with the log-likelihood ℓ of n rows and the number m of free parameters.

Akaike (1974), doi:10.1109/TAC.1974.1100705; Schwarz (1978), doi:10.1214/aos/1176344136.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from didact.core.errors import ParameterError
from didact.core.typing import Array
from didact.core.validation.entrance import entrance


@dataclass
class ComponentPath:
    """Mixtures with different numbers of components, and what speaks for each.

    >>> import numpy as np
    >>> from didact.mixture import GaussianMixture, component_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(80, 1)), rng.normal(size=(80, 1)) + 8])
    >>> path = component_path(GaussianMixture(random_state=0), X, range(1, 4))
    >>> path.best.n_components
    2
    """

    criterion: str
    n_components: Array
    bic: Array
    aic: Array
    score: Array  # mean log-likelihood of a row
    test_score: Array | None
    models: list[Any]

    @property
    def best(self) -> Any:
        """The model that the criterion chooses."""
        if self.criterion == "test":
            return self.models[int(np.argmax(np.asarray(self.test_score)))]
        return self.models[int(np.argmin(self.bic if self.criterion == "bic" else self.aic))]

    def summary(self) -> str:
        """The recommendation in words."""
        what = {"bic": "BIC is lowest", "aic": "AIC is lowest", "test": "Held-out rows are most likely"}[self.criterion]
        return f"{what} with {self.best.n_components} component{'s' * (self.best.n_components > 1)}."

    def plot(self) -> Any:
        """The criteria against the number of components: a Matplotlib figure."""
        from didact.plot.lines import lines

        if self.test_score is None:
            series = {"BIC": self.bic, "AIC": self.aic}
            return lines(self.n_components, series, "components", "criterion", mark=self.best.n_components)
        series = {"training rows": self.score, "held-out rows": self.test_score}
        return lines(self.n_components, series, "components", "mean log-likelihood", mark=self.best.n_components)


@entrance()
def component_path(
    model: Any, X: Any, numbers: Iterable[int], criterion: str = "bic", X_test: Any = None, sample_weight: Any = None
) -> ComponentPath:
    """Fit a mixture with each number of components; `criterion` is "bic", "aic" or "test" (likelihood of `X_test`).

    >>> import numpy as np
    >>> from didact.mixture import GaussianMixture, component_path
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> component_path(GaussianMixture(random_state=0), X, [1, 2]).summary()
    'BIC is lowest with 1 component.'
    """
    if criterion not in ("bic", "aic", "test"):
        raise ParameterError(f"criterion must be 'bic', 'aic' or 'test', not {criterion!r}.")
    if criterion == "test" and X_test is None:
        raise ParameterError("criterion='test' needs rows that no model was fitted to: give them as X_test.")
    counts = list(numbers)
    if not counts:
        raise ParameterError("numbers must name at least one number of components.")
    models = [clone(model).set_params(n_components=int(k)).fit(X, sample_weight=sample_weight) for k in counts]
    return ComponentPath(
        criterion=criterion,
        n_components=np.array(counts),
        bic=np.array([m.bic(X, sample_weight) for m in models]),
        aic=np.array([m.aic(X, sample_weight) for m in models]),
        score=np.array([m.score(X, sample_weight=sample_weight) for m in models]),
        test_score=None if X_test is None else np.array([m.score(X_test) for m in models]),
        models=models,
    )
