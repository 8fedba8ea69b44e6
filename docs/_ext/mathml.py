r"""Formulas as MathML, which browsers draw by themselves: the pages need no script and no network.

Docutils translates the TeX; this extension puts its answer into the pages that Sphinx writes. Some things are mended
on the way: \Big( without a side, \frac12 without braces and a few names are unknown to docutils, bars of norms would
stretch one by one, and a subscript of an accented letter would be put under it.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml

LETTER = r"<m[in][^>]*>[^<]*</m[in]>"
UNDER = re.compile(rf'<munderover>\s*({LETTER})\s*({LETTER})\s*(<mo stretchy="false">[ˆ¯˜˙]</mo>)\s*</munderover>')


def translated(tex: str, as_block: bool = False) -> str:
    """TeX as MathML."""
    tex = re.sub(r"\\([bB]igg?)(?=[\s(\[|])", r"\\\1l", tex)
    tex = re.sub(r"\\([bB]igg?)(?=[)\]])", r"\\\1r", tex)
    tex = re.sub(r"\\[bB]igg?(?=/|\\\|)", "", tex)
    tex = re.sub(r"\\(t?frac)\s*(\d)(\d)", r"\\\1{\2}{\3}", tex)
    for unknown, known in {
        r"\dots": r"\ldots",
        r"\iff": r"\Leftrightarrow",
        r"\textstyle": "",
        r"\texttt": r"\mathtt",
    }.items():
        tex = re.sub(re.escape(unknown) + r"(?![a-zA-Z])", known.replace("\\", r"\\"), tex)
    mathml = latex2mathml.tex2mathml(tex, as_block=as_block)
    mathml = re.sub(r"<mo[^>]*>‖</mo>", '<mo stretchy="false" form="prefix">‖</mo>', mathml)
    return UNDER.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', mathml)


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
