"""An ensemble as the sequence of its fitted learners: `len(model)`, `model[0]`, `for learner in model`."""

from collections.abc import Iterator
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from didact.core.parameters import Attribute, attr

TEMPLATE = attr("estimator_", "model", "The model that was fitted again and again, itself not fitted.")


class OfLearners:
    """Mixin for ensembles whose learners are the list `estimators_`."""

    estimators_: Any
    _attrs: ClassVar[list[Attribute]] = [TEMPLATE]

    @property
    def estimator_(self: Any) -> Any:
        """The model that was fitted again and again, itself not fitted."""
        check_is_fitted(self, "estimators_")
        return self._base()

    def __len__(self) -> int:
        """The number of fitted learners."""
        return len(self._learners())

    def __getitem__(self, index: Any) -> Any:
        """A fitted learner, or a list of some."""
        return self._learners()[index]

    def __iter__(self) -> Iterator[Any]:
        """The fitted learners in their order."""
        return iter(self._learners())

    def __bool__(self) -> bool:
        return True  # an ensemble is there before it is fitted

    def _learners(self) -> Any:
        check_is_fitted(self, "estimators_")
        return self.estimators_
