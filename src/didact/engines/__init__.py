"""The verbs behind the models: solvers that see an objective or a statistic, never an estimator."""
