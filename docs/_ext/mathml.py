"""Formulas as MathML, which browsers draw by themselves: the pages need no script and no network.

Docutils translates the TeX; this extension puts its answer into the pages that Sphinx writes.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def translated(tex: str, as_block: bool = False) -> str:
    r"""TeX as MathML; docutils knows \Bigl( and \Bigr), but not the plain \Big(."""
    tex = re.sub(r"\\([bB]igg?)(?=[\s(\[|])", r"\\\1l", tex)
    return latex2mathml.tex2mathml(re.sub(r"\\([bB]igg?)(?=[)\]])", r"\\\1r", tex), as_block=as_block)


def inline(writer: Any, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(translated(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="formula">{translated(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
