"""Gaussian processes whose kernels are fitted: the answer is the evidence for each row, of which more is better."""

from typing import Any

import numpy as np


class Process:
    """scikit-learn's and didact's regressor, by package: a Gaussian kernel with a width for each column, and noise."""

    def __init__(self, package: str, **options: Any):
        self.package, self.options = package, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Process":
        import importlib

        from sklearn.gaussian_process import kernels as k

        cls = importlib.import_module(f"{self.package}.gaussian_process").GaussianProcessRegressor
        kernel = 1.0 * k.RBF(np.ones(X.shape[1])) + k.WhiteKernel(0.5)
        self.model = cls(kernel, **self.options).fit(X, y)
        self.answer_ = {"score": self.model.log_marginal_likelihood_value_ / len(y)}
        return self


class Classes:
    """scikit-learn's and didact's classifier of two classes: y above its median or not."""

    def __init__(self, package: str, **options: Any):
        self.package, self.options = package, options

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Classes":
        import importlib

        from sklearn.gaussian_process import kernels as k

        cls = importlib.import_module(f"{self.package}.gaussian_process").GaussianProcessClassifier
        labels = y > np.median(y)
        self.model = cls(1.0 * k.RBF(np.ones(X.shape[1])), **self.options).fit(X, labels)
        self.answer_ = {"score": self.model.log_marginal_likelihood_value_ / len(y)}
        return self


class Exact:
    """gpytorch's exact process with the kernel and noise above, by Cholesky and SciPy's L-BFGS-B on its parameters."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Exact":
        import gpytorch
        import torch
        from scipy.optimize import minimize

        tensors = torch.as_tensor(X), torch.as_tensor(y)

        class Model(gpytorch.models.ExactGP):
            def __init__(self, likelihood: Any):
                super().__init__(*tensors, likelihood)
                self.mean = gpytorch.means.ZeroMean()
                self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

            def forward(self, rows: Any) -> Any:
                return gpytorch.distributions.MultivariateNormal(self.mean(rows), self.kernel(rows))

        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        model = Model(likelihood).double().train()
        model.kernel.outputscale, model.kernel.base_kernel.lengthscale, likelihood.noise = 1.0, 1.0, 0.5
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        parameters = list(model.parameters())

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            torch.nn.utils.vector_to_parameters(torch.as_tensor(flat), parameters)
            model.zero_grad()
            with gpytorch.settings.max_cholesky_size(10**6), gpytorch.settings.fast_computations(False, False, False):
                loss = -evidence(model(tensors[0]), tensors[1]) * len(y)
            loss.backward()
            return float(loss), np.concatenate([p.grad.numpy().ravel() for p in parameters])

        start = torch.nn.utils.parameters_to_vector(parameters).detach().numpy()
        found = minimize(objective, start, jac=True, method="L-BFGS-B")
        self.answer_ = {"score": -found.fun / len(y)}
        return self


class Regression:
    """GPy's regression with the kernel and noise above, by its own L-BFGS-B."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Regression":
        import GPy

        kernel = GPy.kern.RBF(X.shape[1], variance=1.0, lengthscale=np.ones(X.shape[1]), ARD=True)
        model = GPy.models.GPRegression(X, y[:, None], kernel, noise_var=0.5)
        model.optimize("lbfgsb", messages=False)
        self.answer_ = {"score": float(model.log_likelihood()) / len(y)}
        return self
