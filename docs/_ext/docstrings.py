"""Two repairs between docstrings and pages: fitted attributes are no links, and inherited members stay at home.

A word such as coef_ is a hyperlink in reStructuredText; in docstrings it always is an attribute. What a class inherits
from scikit-learn is described there, and the plumbing of the base class is for authors of models.
"""

import re
from typing import Any

FORMULA = r":math:`[^`]*`|^(?P<margin> *)\.\. math::.*(?:\n(?:(?P=margin) +\S.*| *$))*"
PROMPT = r"^ *(?:>>>|\.\.\. ).*$"
ATTRIBUTE = r"(?<![`*\w\\:.])(?P<attribute>[A-Za-z]\w*_)(?![\w`*])"
BOLD = r"\*\*[^*\n]+\*\*"
WORDS = re.compile(f"{FORMULA}|{PROMPT}|{BOLD}|{ATTRIBUTE}", re.MULTILINE)


def literal(found: re.Match[str]) -> str:
    """A fitted attribute as a literal; a formula, in which p_{t} has an index, code and bold names as they are."""
    return f"``{found['attribute']}``" if found["attribute"] else found[0]


def mark_attributes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Fitted attributes in the text as literals."""
    lines[:] = WORDS.sub(literal, "\n".join(lines)).split("\n")


def skip_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods that are defined in scikit-learn or in the base class."""
    module = getattr(obj, "__module__", None) or ""
    foreign = module.startswith("sklearn.") or module == "didact.core.estimator"
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, Any]:
    """Register both; the first after numpydoc has made its sections."""
    app.connect("autodoc-process-docstring", mark_attributes, priority=900)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
