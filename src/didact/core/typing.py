"""Type aliases for arrays in signatures."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]  # a NumPy array
AnyArray = Any  # an array in the namespace of the data: NumPy, torch, or a sparse matrix
