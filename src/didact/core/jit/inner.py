"""Loops that other loops call: compiled into their callers, and not by themselves.

Numba makes of every function a library of its own: optimised in full, turned into machine code, with an entrance for
Python and one for C; then it is linked into each caller, and optimised there once more. That was two thirds of all
compiling. Here a loop that another one calls is only lowered to LLVM's language, and the loop that Python calls is
optimised as a whole. Of constant arguments no variants are made: the optimiser sees the constant where it is used.
So a loop that both Python and other loops call has two forms, and the disk cache keeps that for Python alone. Functions
of Numba that loops call are compiled in the inner form, too.
"""

from types import CodeType
from typing import Any

import numba
import numba._dynfunc
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir import Assign, Expr
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.types import Array, StringLiteral
from numba.core.untyped_passes import InlineClosureLikes

from didact.core.jit.contexts import compile_callees, loop_context, loop_typing


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


class _Lower(Lower):
    """Lowering of a function, which may be cold: not worth speed, and compiled for size where it is called."""

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        if self.metadata["cold"]:
            self.function.attributes.update(("noinline", "optsize"))


@register_pass(mutates_CFG=True, analysis_only=False)
class _OuterLowering(NativeLowering):
    """Lowering of what Python calls."""

    _name = "outer_lowering"
    lowering_class = _Lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_OuterLowering):
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


@register_pass(mutates_CFG=True, analysis_only=False)
class _ArrayRewrites(NopythonRewrites):
    """Numba's rewriting of array expressions and of fields named by a text, where there are any."""

    _name = "array_rewrites"

    def run_pass(self, state: Any) -> bool:
        made = {"binop", "unary", "inplace_binop", "call"}
        kinds, made = state.typemap, {"binop", "unary", "inplace_binop", "call"}
        found = [kind for kind in kinds.values() if isinstance(kind, StringLiteral)] or [
            line
            for block in state.func_ir.blocks.values()
            for line in block.find_insts(Assign)
            if isinstance(line.value, Expr) and line.value.op in made and isinstance(kinds[line.target.name], Array)
        ]
        return bool(found) and super().run_pass(state)


class _Passes(PassManager):
    """Numba's passes without the texts that it writes about each of them."""

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        with event.trigger_event("numba:run_pass", data={"name": pss.name()}):
            pss.run_initialization(internal_state)
            pss.run_pass(internal_state)
            pss.run_finalizer(internal_state)


class _LoopCompiler(CompilerBase):
    """Numba's compiler with the passes above; closures are looked for where there are functions inside."""

    lowering: Any = _OuterLowering
    cold = False

    def __init__(self, typingctx: Any, targetctx: Any, *rest: Any) -> None:
        super().__init__(loop_typing(typingctx), loop_context(targetctx), *rest)
        self.state.metadata["cold"] = self.cold

    def define_pipelines(self) -> list[Any]:
        plain = not any(isinstance(part, CodeType) for part in self.state.func_id.code.co_consts)
        passes = _Passes("loop")
        ours = {NativeLowering: self.lowering, NopythonRewrites: _ArrayRewrites}
        for kind, what in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if not (plain and kind is InlineClosureLikes):
                passes.add_pass(ours.get(kind, kind), what)
        passes.finalize()
        return [passes]


class _InnerCompiler(_LoopCompiler):
    """The compiler of loops that others call."""

    lowering = _InnerLowering


class _ColdLoopCompiler(_LoopCompiler):
    """The compiler of loops that run seldom."""

    cold = True


class _ColdInnerCompiler(_InnerCompiler):
    """The compiler of loops that others call now and then."""

    cold = True


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
COLD_OUTER: Any = {"pipeline_class": _ColdLoopCompiler}
COLD_INNER: Any = {"pipeline_class": _ColdInnerCompiler}
compile_callees(INNER)


def dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a loop; calls of it in other loops have a form of their own, with the same options."""
    outer, within = (OUTER | COLD_OUTER, INNER | COLD_INNER) if options.get("cold") else (OUTER, INNER)
    options = {name: value for name, value in options.items() if name != "cold"}
    compiled: Any = numba.njit(**options, **outer)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT
        return function
    inner: Any = numba.njit(**options, **within)(function)
    for form in (compiled, inner):
        form._compiler._customize_flags = _Flags

    def get_call_template(args: Any, kws: Any) -> Any:
        plain = {name: numba.types.unliteral(kind) for name, kind in kws.items()}
        return inner.get_call_template([numba.types.unliteral(kind) for kind in args], plain)

    compiled.get_call_template, compiled.get_overload = get_call_template, inner.get_overload
    return compiled
