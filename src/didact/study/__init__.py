"""The whole procedure on a table, from the raw file to a report that a person can read and a model that can be used."""

from didact.study.columns import Column
from didact.study.result import StudyResult
from didact.study.study import Study
from didact.study.tables import read_table
from didact.study.tasks import Task

__all__ = ["Column", "Study", "StudyResult", "Task", "read_table"]
