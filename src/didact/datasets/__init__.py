"""Small real tables that come with the package (README.md says where they are from), and messages made by a rule."""

from pathlib import Path
from typing import TYPE_CHECKING

from didact.core.errors import need
from didact.core.handed_on import hand_on
from didact.datasets.short_messages import make_messages

if TYPE_CHECKING:
    import polars as pl

__all__ = ["bundled", "load_penguins", "make_messages"]
__getattr__, __dir__ = hand_on(__name__)

_FOLDER = Path(__file__).parent


def bundled() -> dict[str, Path]:
    """The bundled tables by name.

    >>> from didact.datasets import bundled
    >>> sorted(bundled())
    ['penguins']
    """
    return {path.stem: path for path in sorted(_FOLDER.glob("*.csv"))}


def load_penguins() -> "pl.DataFrame":
    """The Palmer penguins, as written down in the field: 344 birds, 17 columns, with missing cells (CC0).

    Mixed types: words (species, island, sex), numbers (bill, flipper, mass, isotopes), a date, identifiers and two
    columns that never change. Good targets are ``Sex`` (two classes), ``Species`` (three) and ``Body Mass (g)``.

    Reference: Gorman, Williams & Fraser (2014), PLoS ONE 9(3): e90081, https://doi.org/10.1371/journal.pone.0090081.

    >>> from didact.datasets import load_penguins
    >>> load_penguins().shape
    (344, 17)
    """
    pl = need("polars", "study")
    return pl.read_csv(bundled()["penguins"], null_values=["NA"], try_parse_dates=True)
