"""Array namespaces: NumPy for what is in main memory, torch's for tensors, results in the caller's kind of array."""

import subprocess
import sys
import types

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp

from didact.core.backend import float_type, is_sparse, is_tensor, like, namespace, small_product, to_host, to_numpy


def test_numpy_and_sparse_get_numpy():
    for x in (np.ones(3), sp.csr_array(np.eye(2)), 3.0, [1, 2]):
        assert namespace(x) is np
        assert not is_tensor(x)
    assert namespace() is np
    assert namespace(None, np.ones(2)) is np


def test_sparse():
    assert is_sparse(sp.csr_array(np.eye(2)))
    assert is_sparse(sp.coo_matrix(np.eye(2)))
    assert not is_sparse(np.eye(2))


def test_float_type():
    for dtype, kept in [("f4", np.float32), ("f8", np.float64), ("i4", np.float64), ("b1", np.float64)]:
        assert float_type(np.ones(2, dtype)) is kept
    assert float_type(sp.csr_array(np.eye(2, dtype=np.float32))) is np.float32


def test_values_stay_with_numpy():
    value = np.arange(3.0)
    assert like(value, np.ones(2, np.float32)) is value
    np.testing.assert_array_equal(to_numpy([1.0, 2.0]), [1.0, 2.0])
    assert to_numpy(value) is value


def test_arrays_of_other_libraries_are_read_as_numpy():
    x = array_api_strict.asarray([1.0, 2.0])
    assert namespace(x) is np
    np.testing.assert_array_equal(to_numpy(x), [1.0, 2.0])


def test_torch_is_not_imported():
    code = (
        "import numpy as np, sys; from didact.core import backend\n"
        "backend.is_tensor(np.ones(2)); backend.namespace(np.ones(2)); backend.like(np.ones(2), np.ones(2))\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_tensor_is_known_by_its_class_alone(monkeypatch):
    """What tells a tensor apart, without torch: a module of that name with a class of that name."""

    class Tensor:
        pass

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))
    assert is_tensor(Tensor())
    assert not is_tensor(np.ones(2))
    monkeypatch.delitem(sys.modules, "torch")
    assert not is_tensor(Tensor())


class TestTorch:
    """With the real thing, where it is installed."""

    torch = None

    @pytest.fixture(autouse=True)
    def load(self):
        self.torch = pytest.importorskip("torch", reason="torch is an extra and not installed here")

    def test_namespace_and_back(self):
        x = self.torch.arange(3.0, requires_grad=True)
        xp = namespace(np.ones(2), x)
        assert xp is not np
        assert xp.sum(x) == 3
        np.testing.assert_array_equal(to_numpy(x), [0.0, 1.0, 2.0])

    def test_like(self):
        for dtype, kept in [(self.torch.float32,) * 2, (self.torch.int64, self.torch.float64)]:
            y = like(np.arange(6.0).reshape(2, 3).T, self.torch.ones(2, dtype=dtype))
            assert y.dtype == kept
            np.testing.assert_array_equal(y.numpy(), np.arange(6.0).reshape(2, 3).T)

    def test_to_host(self):
        table = self.torch.arange(6.0).reshape(2, 3)
        a, b, c = to_host(table, self.torch.ones(2, dtype=self.torch.float64), np.float64(3.0))
        np.testing.assert_array_equal(a, table.numpy())
        assert a.dtype == b.dtype == np.float64
        assert c == 3.0

    def test_float_type(self):
        assert float_type(self.torch.ones(2)) is np.float32
        assert float_type(self.torch.ones(2, dtype=self.torch.float64)) is np.float64

    @pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "PoissonRegressor", "LogisticRegression"])
    def test_models_on_tensors_equal_numpy(self, name):
        from didact import linear_model

        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 4))
        y = rng.poisson(np.exp(X @ [0.5, -0.5, 0.2, 0.0])).astype(float)
        y = (y > 0).astype(int) if name == "LogisticRegression" else y
        model, other = (getattr(linear_model, name)().fit(*data) for data in
                        [(X, y), (self.torch.as_tensor(X), self.torch.as_tensor(y))])  # fmt: skip
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-7)
        answer = other.predict(self.torch.as_tensor(X))
        assert is_tensor(answer)
        np.testing.assert_allclose(to_numpy(answer), model.predict(X), rtol=1e-7)


def test_to_host():
    a, b, c = to_host(np.ones(2, np.float32), np.arange(6).reshape(2, 3), 3)
    assert a.dtype == b.dtype == c.dtype == np.float64
    np.testing.assert_array_equal(b, np.arange(6.0).reshape(2, 3))
    assert c == 3.0


def test_small_product_is_that_of_the_operator():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 6)), rng.normal(size=(50, 3))
    for A in (X, np.asfortranarray(X), X[:, ::2], X[::-1], X.astype(np.float32)):
        np.testing.assert_allclose(small_product(A.T, Y), A.T @ Y, rtol=1e-5)
        np.testing.assert_allclose(small_product(Y[:, 0], A), Y[:, 0] @ A, rtol=1e-5)
    np.testing.assert_allclose(small_product(sp.csr_array(X).T, Y), X.T @ Y)
    np.testing.assert_allclose(small_product(X.T, sp.csr_array(Y)), X.T @ Y)
