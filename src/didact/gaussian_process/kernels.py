"""scikit-learn's kernel objects, as they are: the processes here compute with `didact.kernels` of the same values."""

from typing import TYPE_CHECKING

from didact.core.handed_on import hand_on

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import *  # noqa: F403

__getattr__, __dir__ = hand_on(__name__)
