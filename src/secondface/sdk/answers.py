"""From the bytes of good answers to the values of the specification."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from secondface.sdk.calls import Answer
from secondface.sdk.problems import AnswerUnreadable
from secondface.spec.graph import describe_validation

_Model = TypeVar("_Model", bound=BaseModel)


def read_as(model: type[_Model], answer: Answer) -> _Model:
    """An answer as a value; fields that this version does not know are passed over. Raises AnswerUnreadable."""
    try:
        return model.model_validate_json(answer.body)
    except ValidationError as error:
        raise AnswerUnreadable(describe_validation(error)) from error
