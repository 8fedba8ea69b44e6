r"""Bayesian model averaging and Bayesian model combination of classifiers.

Every model gives probabilities :math:`P_m(k\mid x)`; predictions on rows that it was not fitted to (folds) give the
likelihood of row i, :math:`p_{im} = (1-\epsilon)P_m(y_i\mid x_i) + \epsilon/K`, where a share ε of the labels is taken
to be noise. *Averaging* assumes that one of the models made the data and weighs model m with its posterior,

.. math:: q_m \propto \pi_m \prod_i p_{im},

which soon gives all weight to one of them. *Combination* assumes that a mixture of the models did,
:math:`p(y_i\mid q) = \sum_m q_mp_{im}` with :math:`q \sim \mathrm{Dirichlet}(a)`, and takes the posterior mean of q.
It is drawn by Gibbs sampling: the model of each row from :math:`q_mp_{im}`, then q from the Dirichlet of the counts.

Hoeting, Madigan, Raftery, Volinsky (1999), Bayesian model averaging, doi:10.1214/ss/1009212519; Monteith, Carroll,
Seppi, Martinez (2011), Turning Bayesian model averaging into Bayesian model combination,
doi:10.1109/IJCNN.2011.6033566.
"""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import check_cv

from didact.core.errors import ParameterError
from didact.core.estimator import Estimator
from didact.core.meta import IN_MEMORY, WEIGHTED_DRAWS, OfSeveral, fit_each, fit_model, row_params, seeded
from didact.core.parameters import above, array_like, attr, between, none, one_of, param, random_state, splitter, whole
from didact.core.random import seed_sequence
from didact.core.typing import Array
from didact.ensemble.combine import class_probabilities
from didact.tree import DecisionTreeClassifier

LEAST = 1e-300


def averaging_weights(likelihoods: Array, w: Array, prior: Array) -> Array:
    """Posterior probabilities of the models, (M,), from the likelihoods (n, M) of the rows."""
    log = np.log(prior) + w @ np.log(np.maximum(likelihoods, LEAST))
    q = np.exp(log - log.max())
    return q / q.sum()


def combination_weights(likelihoods: Array, w: Array, prior: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws from the posterior of the mixture's weights, (draws, M), after as many steps to warm up as a fifth."""
    P = np.maximum(likelihoods, LEAST)
    q, found = prior / prior.sum(), []
    for step in range(draws + draws // 5):
        cumulated = np.cumsum(q * P, axis=1)
        place = rng.uniform(size=len(P)) * cumulated[:, -1]
        model = (place[:, None] > cumulated[:, :-1]).sum(axis=1)
        q = rng.dirichlet(prior + np.bincount(model, w, len(prior)))
        if step >= draws // 5:
            found.append(q)
    return np.asarray(found)


def probabilities(X: Any, models: list[Any], weights: Array, classes: Array) -> Array:
    """Σ_m q_m P_m(k|x)."""
    parts = (q * class_probabilities(model, X, len(classes)) for model, q in zip(models, weights, strict=True) if q > 0)
    return sum(parts).astype(X.dtype, copy=False)


def labels(X: Any, models: list[Any], weights: Array, classes: Array) -> Array:
    """The most probable class."""
    return classes[probabilities(X, models, weights, classes).argmax(axis=1)]


class BayesianModelCombination(OfSeveral, ClassifierMixin, Estimator):
    r"""Classifiers weighted by what their predictions of unseen rows say about them.

    .. math:: P(k\mid x) = \sum_m \bar q_m P_m(k\mid x)

    Notes
    -----
    Cost: folds + 1 fits of every model; the draws cost n·M each. With a flat prior and no data the weights are equal:
    plain voting. The likelihood of a row is :math:`(1-\epsilon)P_m + \epsilon/K` with `noise` ε. Weights
    count rows: more of them are more evidence, and the posterior is narrower. Shape of computation: map.

    References
    ----------
    Hoeting, Madigan, Raftery, Volinsky (1999), doi:10.1214/ss/1009212519; Monteith, Carroll, Seppi, Martinez (2011),
    doi:10.1109/IJCNN.2011.6033566.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from didact.ensemble import BayesianModelCombination
    >>> from didact.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    >>> model = BayesianModelCombination(models, random_state=0).fit(X, y)
    >>> model.weights_.sum().round(6), model.score(X, y) > 0.95
    (np.float64(1.0), True)
    """

    _test_params = [{"random_state": 0}]
    _test_skips = {
        **IN_MEMORY,
        **WEIGHTED_DRAWS,
        "weight_scale": "Weights count rows: a thousand times as many are a thousand times the evidence.",
    }

    estimators: Any = param(None, [list, none], "Pairs (name, classifier); None: trees of depth 1, 2, 4 and 8.")
    method: str = param(
        "combination", one_of("combination", "averaging"), "Whether a mixture of the models, or one of them, is true."
    )
    prior: Any = param(
        1.0, [above(0), array_like], "Concentration of the Dirichlet, or prior probabilities: a number or one a model."
    )
    cv: Any = param(None, splitter, "Folds for the likelihoods; None: five.")
    noise: float = param(
        0.01,
        between(0, 1, "left"),
        "Share of labels taken to be noise: a model that was sure and wrong is not ruled out.",
    )
    n_draws: int = param(500, whole(1), "Draws of the weights of a combination.")
    random_state: Any = param(None, random_state, "Seed of the draws and of the models.")

    _attrs = [
        attr("estimators_", "list of models", "Fitted to all rows; they know the classes by their numbers 0 … K−1."),
        attr("weights_", "(n_models,)", "Posterior probabilities of the models, or posterior means of their weights."),
        attr("weights_std_", "(n_models,)", "Posterior standard deviations of these weights; 0 for averaging."),
        attr("log_likelihoods_", "(n_models,)", "Log-likelihood of the rows out of fold for each model."),
    ]

    def _models(self) -> list[tuple[str, Any]]:
        if self.estimators is not None:
            return self.estimators
        return [(f"depth {d}", DecisionTreeClassifier(max_depth=d)) for d in (1, 2, 4, 8)]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> "BayesianModelCombination":
        """Fit to rows X with labels y; sample_weight counts rows, other metadata go to the models by their names."""
        pairs, params = self._checked_models(), self._routed_each(fit_params)
        prior = self._prior(len(pairs))
        X, y, w = self._training(X, y, sample_weight, target="labels")
        self.classes_, codes = self._coded(y)
        seeds = seed_sequence(self.random_state).spawn(len(pairs) + 1)
        models = [seeded(model, np.random.default_rng(s)) for (_, model), s in zip(pairs, seeds, strict=False)]
        metadata = [params[name] for name, _ in pairs]
        likelihoods = self._likelihoods(models, X, codes, w, metadata)
        everything = list(zip(models, metadata, strict=True))
        self.estimators_ = fit_each(lambda task: fit_model(task[0], X, codes, w, task[1]), everything)
        self._weigh(likelihoods, np.ones(len(codes)) if w is None else w, prior, seeds[-1])
        return self

    def _prior(self, count: int) -> Array:
        prior = (
            np.broadcast_to(np.asarray(self.prior, np.float64), (count,)) if np.size(self.prior) in (1, count) else None
        )
        if prior is None or not (prior > 0).all():
            raise ParameterError(f"prior must be a positive number, or one for each of the {count} models.")
        return prior

    def _likelihoods(self, models: list[Any], X: Any, codes: Array, w: Any, metadata: list[dict[str, Any]]) -> Array:
        """The probability of each row's class by each model that was not fitted to it, (n, M)."""
        out = np.empty((len(codes), len(models)))
        folds = list(check_cv(self.cv, codes, classifier=True).split(np.zeros((len(codes), 1)), codes))
        tasks = [(m, train, test) for m in range(len(models)) for train, test in folds]

        def fold(task: tuple[int, Array, Array]) -> None:
            m, train, test = task
            part = None if w is None else w[train]
            model = fit_model(clone(models[m]), X[train], codes[train], part, row_params(X, train, metadata[m]))
            out[test, m] = class_probabilities(model, X[test], len(self.classes_))[np.arange(len(test)), codes[test]]

        fit_each(fold, tasks)
        return (1.0 - self.noise) * out + self.noise / len(self.classes_)

    def _weigh(self, likelihoods: Array, w: Array, prior: Array, seed: Any) -> None:
        self.log_likelihoods_ = w @ np.log(np.maximum(likelihoods, LEAST))
        if self.method == "averaging":
            self.weights_ = averaging_weights(likelihoods, w, prior)
            self.weights_std_ = np.zeros_like(self.weights_)
        else:
            draws = combination_weights(likelihoods, w, prior, self.n_draws, np.random.default_rng(seed))
            self.weights_, self.weights_std_ = draws.mean(axis=0), draws.std(axis=0)

    def predict_proba(self, X: Any) -> Any:
        """The weighted mean of the models' probabilities."""
        return self._after_fit()._map_rows(X, probabilities, self.estimators_, self.weights_, self.classes_)

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        return self._after_fit()._map_rows(X, labels, self.estimators_, self.weights_, self.classes_)
