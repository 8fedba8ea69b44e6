"""The wheel that carries compiled loops: built, installed into an empty folder, and used without compiling anything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import didact
from didact.core.jit import entries
from didact.core.jit.disk_cache import has_baseline
from didact.core.jit.warming import pack_entries, warm

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]
CHECKOUT = Path(didact.__file__).parents[2]
CHAPTERS = ("naive_bayes", "discriminant_analysis", "linear_model", "tree", "ensemble", "neighbors")
MODELS = [
    "naive_bayes.GaussianNB",
    "discriminant_analysis.LinearDiscriminantAnalysis",
    "linear_model.LinearRegression",
    "linear_model.Ridge",
    "linear_model.Lasso",
    "linear_model.LogisticRegression",
    "linear_model.SGDClassifier",
    "tree.DecisionTreeClassifier",
    "tree.DecisionTreeRegressor",
    "ensemble.RandomForestClassifier",
    "ensemble.HistGradientBoostingClassifier",
    "ensemble.AdaBoostClassifier",
    "neighbors.KNeighborsClassifier",
]
USE = """
import importlib, json, sys, time
import numpy as np
X = np.random.default_rng(0).normal(size=(200, 5))
y = (X[:, 0] > 0).astype(int)
late = {}
for name in sys.argv[1:]:
    module, _, kind = name.partition(".")
    model = getattr(importlib.import_module(f"didact.{module}"), kind)()
    seconds = []
    for _ in range(2):
        start = time.process_time()
        model.fit(X, y).predict(X)
        seconds.append(time.process_time() - start)
    late[name] = seconds[0] - seconds[1]
from didact.core.jit.loop import Loop
loops = {loop for m in list(sys.modules.values()) for loop in vars(m).values() if isinstance(loop, Loop) and loop.ready}
compiled = sorted(repr(loop) for loop in loops if loop.stats.cache_misses)
found = sum(sum(loop.stats.cache_hits.values()) for loop in loops)
import didact
print(json.dumps({"file": didact.__file__, "compiled": compiled, "found": found, "late": late}))
"""


class Site:
    """A folder into which the wheel has been installed, and how to run Python with it and an empty cache."""

    def __init__(self, root):
        self.root, self.target = root, root / "site"
        self.cache = root / "cache"

    def run(self, *models, **environment):
        chosen = {"PYTHONPATH": str(self.target), "NUMBA_CACHE_DIR": str(self.cache)}
        chosen |= {"PATH": os.environ["PATH"], "HOME": str(self.root)} | environment
        command = [sys.executable, "-c", USE, *models]
        done = subprocess.run(command, env=chosen, cwd=self.root, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not has_baseline():
        pytest.skip("wheels carry code for x86-64-v3 alone")
    root = tmp_path_factory.mktemp("wheel")
    warm(*CHAPTERS)  # quick where `make setup` has been before
    assert pack_entries(root / "compiled", CHAPTERS) > 0
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(root)]
    subprocess.run(build, check=True, cwd=CHECKOUT, env=os.environ | {"DIDACT_COMPILED": str(root / "compiled")})
    (wheel,) = root.glob("*.whl")
    assert wheel.name.endswith(f"-cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-linux_x86_64.whl")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-warn-conflicts"]
    subprocess.run([*install, "--target", str(root / "site"), str(wheel)], check=True)
    return Site(root)


def test_first_fits_from_the_wheel_compile_nothing(site):
    seen = site.run(*MODELS)
    assert seen["file"].startswith(str(site.target))
    assert seen["compiled"] == []
    assert seen["found"] > len(MODELS)
    assert list(site.root.rglob(f"cache/**/*{entries.ENDING}")) == []
    assert max(seen["late"].values()) < 1.0


def test_another_cpu_or_damage_falls_back_to_compiling(site):
    model = "naive_bayes.GaussianNB"
    assert site.run(model, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")["compiled"] != []
    for entry in site.target.rglob(f"components_loops-*/*{entries.ENDING}"):
        content = entry.read_bytes()
        entry.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    damaged = site.run(model, NUMBA_CACHE_DIR=str(site.root / "damaged"))
    assert any("components_loops" in name for name in damaged["compiled"])
    assert site.run(model, NUMBA_CACHE_DIR=str(site.root / "damaged"))["compiled"] == []
