"""``python compiled_functions.py NAME …``: the compiled functions behind each estimator's first fit and prediction.

One line of JSON for each class: the functions that its compiled entry points are made of, as Numba mangles their names,
whether they were compiled now or read from the cache. Each class has a forked process, in which nothing is loaded yet.
"""

import json
import os
import re
import sys
import warnings

import numba.core.registry
import registry_cases as cases

from didact.core.jit.loop import Loop

ENVIRONMENT = "_ZN08NumbaEnv"  # a global variable of this kind goes with every function, also where it was inlined
COUNTER = re.compile(r"B\d+v\d+B")  # the number that Numba gives a function in its process


def functions():
    """The names of all functions in the machine code that this process has loaded or compiled for didact's loops."""
    found = set()
    modules = [vars(module) for name, module in sys.modules.items() if name.startswith("didact") and module]
    for loop in {id(x): x for members in modules for x in members.values() if isinstance(x, Loop)}.values():
        for compiled in getattr(loop.ready, "overloads", {}).values():
            library = compiled.library
            code = library._shared_module or library._final_module
            found |= {COUNTER.sub("B", v.name) for v in code.global_variables if v.name.startswith(ENVIRONMENT)}
    return sorted(name.removeprefix(ENVIRONMENT) for name in found)


def report(model):
    """Fit, predict and print."""
    warnings.simplefilter("ignore")
    X, y = cases.problem(model, 200, 5)
    getattr(model.fit(X, y), cases.answer(model))(X)
    print(json.dumps([type(model).__name__, functions()]), flush=True)


if __name__ == "__main__":
    numba.core.registry.cpu_target.target_context.refresh()  # once, and not in every child
    for model in cases.at_defaults():
        if type(model).__name__ in sys.argv[1:]:
            child = os.fork()
            if child == 0:
                try:
                    report(model)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
