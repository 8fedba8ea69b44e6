"""Models whose passes are compiled give BLAS one thread while they iterate.

Threads of BLAS that were called for a small matrix spin for some milliseconds, for more of it to come, and so take the
cores from the pass that follows.
"""

import importlib

import numpy as np
import pytest

from didact.cluster import KMeans
from didact.core import threads
from didact.decomposition import NMF, FastICA
from didact.mixture import GaussianMixture

# A model, and a function in which it calls BLAS between two passes.
MODELS = [
    (GaussianMixture(2, random_state=0), "didact.engines.components.mixture", "factor"),
    (KMeans(3, random_state=0), "didact.engines.centroids.passes", "half_gaps"),
    (FastICA(random_state=0, max_iter=1000), "didact.engines.factors.sources", "orthonormal_rows"),
    (NMF(2, max_iter=1000), "didact.engines.factors.nonnegative", "with_diagonal"),
]


@pytest.mark.parametrize(("model", "module", "name"), MODELS, ids=lambda value: type(value).__name__)
def test_one_blas_thread_between_passes(model, module, name, monkeypatch):
    libraries = [library for library in threads._blas() if not threads._per_thread(library)]
    before, seen = [library.num_threads for library in libraries], []
    inner = getattr(importlib.import_module(module), name)

    def watched(*args, **kwargs):
        seen.extend(library.num_threads for library in libraries)
        return inner(*args, **kwargs)

    monkeypatch.setattr(f"{module}.{name}", watched)
    for library in libraries:
        threads._Hold.set(library, 4)
    try:
        model.fit(np.random.default_rng(0).uniform(size=(500, 4)))
        assert len(seen) >= len(libraries)
        assert set(seen) <= {1}
        assert all(library.num_threads == 4 for library in libraries)
    finally:
        for library, limit in zip(libraries, before, strict=True):
            threads._Hold.set(library, limit)
