"""Kernels on GPUs: Triton, which comes with torch for GPUs, where it is; what all kernels share.

A kernel is a plain function of pointers, sizes and arguments annotated `constexpr`, for which it is compiled; blocks of
its arrays have sizes that are powers of two. Its programs take tiles of rows in turn, and each writes sums of its own,
which are added up in a fixed order. Modules with kernels are imported where a tensor is on a GPU, not before.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from didact.core.backend import like, to_host
from didact.core.typing import Array

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None

__all__ = ["MOST_SUMS", "constexpr", "over_tiles", "padded", "takes_rows_of", "tl"]

constexpr: Any = int if tl is None else tl.constexpr
LEAST_SIDE = 16  # rows and columns of a matrix product
MOST_SUMS = 1 << 12  # numbers that a program adds up in registers
ROUND_TILES = 16  # tiles whose sums are added up in float32
PROGRAMS, WARPS = 4, 4  # of a multiprocessor and of a program: 2 and 8 were not faster on an H200


def takes_rows_of(X: Any) -> bool:
    """Whether kernels can read a tensor: float32, row by row."""
    return bool(triton is not None and str(X.dtype) == "torch.float32" and X.is_contiguous() and X.shape[0])


def padded(count: int, least: int = LEAST_SIDE) -> int:
    """The least power of two that holds so many columns."""
    return max(least, 1 << (count - 1).bit_length())


def over_tiles(
    function: Callable[..., None], X: Any, w: Any, tables: Sequence[Array], shapes: Sequence[tuple[int, ...]], K: int,
    rows: int, **sizes: int,
) -> list[Array]:  # fmt: skip
    """Run a kernel on tiles of so many rows of X: its sums, of these shapes.

    Its arguments are X, w, the tables, for each shape the place of the programs' sums, n, p, K, the number of programs
    and of rounds of tiles; then WEIGHTED, ROWS, TILES and further sizes.
    """
    import torch

    n, p = X.shape
    programs = min(PROGRAMS * _multiprocessors(str(X.device)), triton.cdiv(n, rows))
    sums = [torch.empty((programs, *shape), device=X.device, dtype=torch.float64) for shape in shapes]
    weight = X if w is None else w.to(dtype=X.dtype).contiguous()
    given = [like(np.ascontiguousarray(table), X) for table in tables]
    rounds = triton.cdiv(n, programs * ROUND_TILES * rows)
    sizes = {"WEIGHTED": w is not None, "ROWS": rows, "TILES": ROUND_TILES, "num_warps": WARPS} | sizes
    _kernel(function)[(programs,)](X, weight, *given, *sums, n, p, K, programs, rounds, **sizes)
    (found,) = to_host(torch.cat([part.sum(0).ravel() for part in sums]))
    edges = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(found, edges[:-1]), shapes, strict=True)]


@cache
def _multiprocessors(device: str) -> int:
    import torch

    return torch.cuda.get_device_properties(device).multi_processor_count if device.startswith("cuda") else 1


@cache
def _kernel(function: Callable[..., None]) -> Any:
    return triton.jit(function)
