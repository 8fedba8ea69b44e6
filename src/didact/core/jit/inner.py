"""Loops that other loops call: compiled into their callers, and not by themselves.

Numba makes of every function a library of its own: optimised in full, turned into machine code, with an entrance for
Python and one for C; then it is linked into each caller, and optimised there once more. That was two thirds of all
compiling. Here a loop that another one calls is only lowered to LLVM's language, and the loop that Python calls is
linked once with all that it needs, directly or not, and optimised as a whole. Of constant arguments no variants are
made: the optimiser sees the constant where it is used. So a loop that both Python and other loops call has two forms,
and the disk cache keeps that for Python alone.
"""

from collections.abc import Iterable
from types import CodeType
from typing import Any

import numba
import numba._dynfunc
from llvmlite.binding import Linkage
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import InlineClosureLikes


class _Library(JITCodeLibrary):
    """The code of a loop that Python calls."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """The passes that make a function smaller; Numba runs them also for the mere names of what it calls."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)

    def finalize(self) -> None:
        """Link the inner loops below this one, each once; the rest is Numba's work."""
        for library in _inner_below(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._final_module, preserve=True)
            self._linking_libraries.extend(library._outside())
        self._linking_libraries = [found for found in self._linking_libraries if not isinstance(found, _InnerLibrary)]
        super().finalize()


class _InnerLibrary(_Library):
    """Code that is linked into that of callers, and not run by itself."""

    def finalize(self) -> None:
        """Nothing is linked or optimised: the caller does it."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _outside(self) -> list[Any]:
        """The libraries of Numba's own functions that this one calls."""
        return [library for library in self._linking_libraries if not isinstance(library, _InnerLibrary)]

    def _get_module_for_linking(self) -> Any:
        """For callers that are not loops of ours: this one with all that it needs."""
        if self._shared_module is None:
            whole = self._final_module.clone()
            for library in _inner_below(self._linking_libraries):
                whole.link_in(library._final_module, preserve=True)
                for found in library._outside():
                    whole.link_in(found._get_module_for_linking(), preserve=True)
            for found in self._outside():
                whole.link_in(found._get_module_for_linking(), preserve=True)
            self._shared_module = whole
        return self._shared_module


def _inner_below(libraries: Iterable[Any]) -> list[_InnerLibrary]:
    """The inner libraries among these and those that they link, each once."""
    found: dict[Any, None] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if isinstance(library, _InnerLibrary) and library not in found:
            found[library] = None
            waiting.extend(library._linking_libraries)
    return list(found)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lowering of a loop that Python calls."""

    _name = "loop_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    """Lowering to code that is only linked; a function object without code is its key in Numba's tables."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        library = state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        done = state["cr"]
        name = done.fndesc.qualname.rpartition(".")[2]
        key = numba._dynfunc.make_function(done.fndesc.lookup_module(), name, "", 0, done.env, (library,))
        state.targetctx.insert_user_function(key, done.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = done._replace(cfunc=key)
        return True


class _Passes(PassManager):
    """Numba's passes without the texts that it writes about each of them."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        with event.trigger_event("numba:run_pass", data={"name": pss.name()}):
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


class _LoopCompiler(CompilerBase):
    """Numba's compiler with the lowering above; closures are looked for where there are functions inside."""

    lowering: Any = _Lowering

    def define_pipelines(self) -> list[Any]:
        plain = not any(isinstance(part, CodeType) for part in self.state.func_id.code.co_consts)
        passes = _Passes("loop")
        for kind, what in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if not (plain and kind is InlineClosureLikes):
                passes.add_pass(self.lowering if kind is NativeLowering else kind, what)
        passes.finalize()
        return [passes]


class _InnerCompiler(_LoopCompiler):
    """The compiler of loops that others call."""

    lowering = _InnerLowering


class _Flags(Flags):
    """Numba's options of a function, which it compares for every call in it: by those alone that are set."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        return self._values == other._values or all(
            getattr(self, name) == getattr(other, name) for name in self._values.keys() | other._values.keys()
        )


_HASH = hash(Flags())  # the same for all: Numba makes it of the names
OUTER: Any = {"pipeline_class": _LoopCompiler, "no_cfunc_wrapper": True}
INNER: Any = {"pipeline_class": _InnerCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a loop; calls of it in other loops have a form of their own, with the same options."""
    compiled: Any = numba.njit(**options | OUTER)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT
        return function
    inner: Any = numba.njit(**options, **INNER)(function)
    for form in (compiled, inner):
        form._compiler._customize_flags = _Flags

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return inner.get_call_template([numba.types.unliteral(kind) for kind in args], plain)

    compiled.get_call_template, compiled.get_overload = get_call_template, inner.get_overload
    return compiled
