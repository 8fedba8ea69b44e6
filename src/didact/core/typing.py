"""The two words for arrays in signatures."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]  # of NumPy
AnyArray = Any  # of the namespace of the data: NumPy, torch, a sparse matrix
