"""Numba's contexts for compiling loops: they remember what Numba finds out anew at every step.

Numba asks for the type of `a[i]` as often as it stands in a loop, has LLVM parse a text to learn the size of a type,
and looks for new declarations in all its tables before each function. The functions that it brings itself, as `max`,
it compiles each to machine code of its own; loops are a target of their own to Numba, for which these take the form
of `inner`. Everything else is shared with Numba's own contexts, and functions of users are compiled as ever.
"""

import copy
from functools import cache
from typing import Any

import numba
from numba.core.cpu import CPUContext
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_registry
from numba.core.types import BaseFunction
from numba.core.typing.context import Context


class LoopTarget(CPU):
    """The CPU, for loops of didact."""


target_registry["didact"] = LoopTarget
dispatcher_registry[LoopTarget] = dispatcher_registry[CPU]


def compile_callees(options: dict[str, Any]) -> None:
    """The options with which functions of Numba are compiled that a loop calls."""

    def decorate(**given: Any) -> Any:
        return numba.jit(**options | given)

    jit_registry[LoopTarget] = decorate


def _declared(context: Any, *kinds: str) -> int:
    """How many declarations a context can know of; they are only ever added."""
    return sum(len(getattr(registry, kind)) for registry in context._registries for kind in kinds)


class LoopTyping(Context):
    """Numba's typing context; the types of operations on given types are looked for once."""

    plain: Any
    known: dict[Any, Any]
    declared: int

    def refresh(self) -> None:
        declared = _declared(self, "functions", "attributes", "globals")
        if declared != self.declared:
            self.known.clear()
            self.plain.refresh()
            self.declared = _declared(self, "functions", "attributes", "globals")

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        key = (id(func), *map(id, args))
        found = None if kws else self.known.get(key)
        if found is not None:
            return found[0]
        signature = super().resolve_function_type(func, args, kws)
        kind = self._lookup_global(func) or func
        if signature is not None and isinstance(kind, BaseFunction) and kind.get_impl_key(signature) == kind.typing_key:
            self.known[key] = signature, func, args  # what is kept keeps its identity; compiled code goes by options
        return signature


class LoopContext(CPUContext):
    """Numba's target context; sizes of types are asked once."""

    sizes: dict[str, int]
    declared: list[int]

    def refresh(self) -> None:
        kinds = "functions", "getattrs", "setattrs", "casts", "constants"
        if _declared(self, *kinds) != self.declared[0]:
            super().refresh()
            self.declared[0] = _declared(self, *kinds)

    def get_abi_sizeof(self, ty: Any) -> int:
        name = str(ty)
        if name not in self.sizes:
            self.sizes[name] = super().get_abi_sizeof(ty)
        return self.sizes[name]


def loop_typing(plain: Any) -> Any:
    """A typing context that shares all tables with Numba's."""
    return plain if isinstance(plain, LoopTyping) else _typing(plain)


def loop_context(plain: Any) -> Any:
    """A target context that shares all tables with Numba's."""
    return plain if isinstance(plain, LoopContext) else _context(plain)


@cache
def _typing(plain: Any) -> Any:
    context = copy.copy(plain)
    context.__class__ = LoopTyping
    context.plain, context.known, context.declared = plain, {}, -1
    return context


@cache
def _context(plain: Any) -> Any:
    context = copy.copy(plain)
    context.__class__ = LoopContext
    context.target, context.sizes, context.declared = LoopTarget, {}, [-1]
    return context
