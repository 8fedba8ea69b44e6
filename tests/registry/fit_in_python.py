"""Fit every estimator with its loops as plain Python: `NUMBA_DISABLE_JIT=1 python tests/registry/fit_in_python.py`.

Prints a line for each that fails. With names as arguments only these are fitted, for a debugger.
"""

import sys
import traceback
import warnings

from registry_cases import METHODS, all_instances, label, one_of_each, problem
from sklearn.base import clone


def main(names):
    warnings.simplefilter("ignore")
    failed, tried = 0, 0
    for model in one_of_each(all_instances()):
        if names and type(model).__name__ not in names:
            continue
        X, y = problem(model, n=40, p=4)
        tried += 1
        try:
            model = clone(model).fit(X, y)
            for method in METHODS:
                if hasattr(model, method):
                    getattr(model, method)(X)
        except Exception:
            failed += 1
            print(f"{label(model)}\n{traceback.format_exc(limit=-3)}")
    print(f"{tried} classes, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
