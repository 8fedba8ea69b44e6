"""What stands for a Python function in compiled code, written in LLVM's language."""

from collections.abc import Callable
from typing import Any

import numba
import numba.extending
from numba.core.typing.templates import infer_global, make_intrinsic_template


def instruction(twin: Any) -> Callable[[Any], Any]:
    """Decorator of a typing function as for `numba.extending.intrinsic`: in loops its code stands for the twin."""

    def register(definition: Any) -> Any:
        handle = numba.extending.intrinsic(definition)
        template = make_intrinsic_template(handle, definition, definition.__name__)
        infer_global(twin, numba.types.Function(template))
        return handle

    return register
