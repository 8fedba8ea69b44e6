"""Tensors on a device of their own, which refuses what a GPU refuses, for machines without one.

`torch.as_tensor(values, device=FAR)`, and every other way to make or move tensors, gives tensors that say they are on
the device "far". They live in memory, but NumPy cannot read them, and no operation takes them together with tensors of
the CPU, but for those that CUDA takes: copies, indices, and one tensor without dimensions in arithmetic by entries.
"""

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("far")
FAR = torch.device("far", 0)
CPU = torch.device("cpu")
aten = torch.ops.aten

COPIES = {aten.copy_.default, aten._to_copy.default}
INDEXING = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}
FILLS = {aten.fill.Tensor, aten.fill_.Tensor, aten.masked_fill.Tensor, aten.masked_fill_.Tensor}
NO_NUMBERS = ("clamp", "lerp", "addcmul", "addcdiv")  # by entries, and CUDA takes no tensor of the CPU in them
PRODUCTS = {aten.mm, aten.mv, aten.dot, aten.vdot, aten.bmm, aten.addmm, aten.addmv, aten.baddbmm, aten.addbmm}
MAKE = (
    "empty.memory_format",
    "empty_strided",
    "arange",
    "arange.start",
    "arange.start_step",
    "eye",
    "eye.m",
    "linspace",
)
MAKE += ("logspace", "rand", "randn", "randint", "randint.low", "randperm", "tril_indices", "triu_indices")


class FarTensor(torch.Tensor):
    """A tensor on the device "far"; `near` holds its numbers."""

    @staticmethod
    def __new__(cls, near):
        place = {"strides": near.stride(), "storage_offset": near.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, near.size(), dtype=near.dtype, device=FAR, **place)

    def __init__(self, near):
        self.near = near

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")

    def numpy(self, *args, **kwargs):
        return self.__array__()

    def tolist(self):
        return self.near.tolist()

    def __format__(self, how):
        return format(self.near, how)

    def __repr__(self):
        return f"far {self.near}"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return computed(function, args, kwargs or {})


def is_far(value):
    return isinstance(value, FarTensor)


def near(value):
    """What stands for a value of the device in memory."""
    return value.near if is_far(value) else CPU if isinstance(value, torch.device) else value


def computed(function, args, kwargs):
    """The result of an operation, on the device; an error, if CUDA would refuse it."""
    given = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    if not all(map(is_far, given)) and any(map(is_far, given)) and not may_be_mixed(function, args, kwargs):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
            f"({function}: {[(str(value.device), tuple(value.shape)) for value in given]})"
        )
    if function.overloadpacket in PRODUCTS and not (given[0].is_floating_point() or given[0].is_complex()):
        raise RuntimeError(f'"{function}" is not implemented on CUDA for {given[0].dtype}')
    if isinstance(kwargs.get("generator"), torch.Generator):
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    found = function(*tree_map(near, args), **tree_map(near, kwargs))
    of_near = {id(value.near): value for value in filter(is_far, given)}
    if torch.Tag.inplace_view in function.tags:  # the shape that the outer tensor shows changes, too
        with no_dispatch():
            function(*args, **kwargs)
    assert all(value.shape == value.near.shape for value in of_near.values()), f"{function} changes a shape in place"
    target = kwargs.get("device")
    if target == CPU or (function is aten.copy_.default and not is_far(args[0])):
        return found
    return tree_map(
        lambda x: of_near[id(x)] if id(x) in of_near else FarTensor(x) if isinstance(x, torch.Tensor) else x, found
    )


def may_be_mixed(function, args, kwargs):
    """Whether CUDA takes tensors of both devices, as they stand here."""
    if function in COPIES:
        return True
    if function in INDEXING:  # indices may be anywhere
        return is_far(args[0]) and all(is_far(value) or value.ndim == 0 for value in args[2:3])
    if (not is_far(args[0]) and function._schema.is_mutable) or "out" in kwargs:
        return False
    if function in FILLS:
        return all(map(is_far, args[:-1])) and args[-1].ndim == 0
    if function is aten.where.self:
        return is_far(args[0]) and all(is_far(value) or value.ndim == 0 for value in args[1:])
    numbers = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor) and not is_far(value)]
    by_entry = torch.Tag.pointwise in function.tags and not function.overloadpacket.__name__.startswith(NO_NUMBERS)
    return by_entry and len(numbers) == 1 and numbers[0].ndim == 0


def _maker(name):
    """The function that makes tensors of the device by the operation of that name."""
    packet, _, overload = name.partition(".")
    function = getattr(getattr(aten, packet), overload or "default")
    return lambda *args, **kwargs: computed(function, args, kwargs)


LIBRARY = torch.library.Library("aten", "IMPL")
for _name in MAKE:
    LIBRARY.impl(_name, _maker(_name), "PrivateUse1")
LIBRARY.impl("_copy_from", lambda source, target, *_: computed(aten.copy_.default, (target, source), {}), "PrivateUse1")
LIBRARY.impl("_local_scalar_dense", lambda number: number.near.item(), "PrivateUse1")
