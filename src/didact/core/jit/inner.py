"""Loops that other loops call: compiled into their callers, and not by themselves.

Numba makes of every function a library of its own: optimised in full, turned into machine code, with an entrance for
Python and one for C; then it is linked into each caller, and optimised there once more. That was two thirds of all
compiling. Here a loop that another one calls is only lowered to LLVM's language, and the loop that Python calls is
optimised as a whole. Of constant arguments no variants are made: the optimiser sees the constant where it is used.
So a loop that both Python and other loops call has two forms, and the disk cache keeps that for Python alone.
"""

from typing import Any

import numba
import numba._dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _InnerLibrary(JITCodeLibrary):
    """Code that is linked into that of callers, and not run by itself."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """The passes that make a function smaller; Numba runs them also for the mere names of what it calls."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                manager, builder = self._codegen._function_pass_manager()
                manager.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Nothing: the caller does it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


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


class _InnerCompiler(CompilerBase):
    """Numba's compiler with the lowering above."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, "inner")
        manager.passes = [(_InnerLowering if kind is NativeLowering else kind, what) for kind, what in manager.passes]
        manager.finalize()
        return [manager]


INNER: Any = {"pipeline_class": _InnerCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compile_into_callers(compiled: Any, function: Any, options: dict[str, Any]) -> None:
    """Give calls of a loop in other loops a form of their own, compiled with the same options."""
    inner: Any = numba.njit(**options, **INNER)(function)

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return inner.get_call_template([numba.types.unliteral(kind) for kind in args], plain)

    compiled.get_call_template, compiled.get_overload = get_call_template, inner.get_overload
