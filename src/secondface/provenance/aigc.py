"""The AIGC label of GB 45438-2025, annex E: one JSON object that says that AI made a file, whose AI, in which job.

Decides its fields and what may stand in them; must not know where in a file it is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from secondface.errors import InvalidSetting

KEYS = (
    "Label", "ContentProducer", "ProduceID", "ReservedCode1", "ContentPropagator", "PropagateID", "ReservedCode2",
)  # fmt: skip
GENERATED = "1"
"""`Label` of content that was generated; 2 means probably, 3 means suspected."""

_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]*")
_LONGEST_VALUE, _LONGEST_TEXT = 512, 8192


@dataclass(frozen=True, slots=True)
class AigcLabel:
    """The seven values, each of visible ASCII without spaces; raises InvalidSetting for others.

    content_producer is the operator's name or registered 27-character code. It stays empty while the operator has
    not set it: the software is not the provider that the standard asks for, and an invented name would be a lie.
    """

    content_producer: str = ""
    produce_id: str = ""
    label: str = GENERATED
    reserved_code1: str = ""
    content_propagator: str = ""
    propagate_id: str = ""
    reserved_code2: str = ""

    def __post_init__(self) -> None:
        for key, value in self.values().items():
            if not _VISIBLE_ASCII.fullmatch(value) or len(value) > _LONGEST_VALUE:
                raise InvalidSetting(
                    f"{key} of the AIGC label: visible ASCII without spaces, at most {_LONGEST_VALUE} characters",
                    key=key,
                )

    def values(self) -> Mapping[str, str]:
        """The values by the standard's keys, in its order."""
        return dict(
            zip(
                KEYS,
                (
                    self.label, self.content_producer, self.produce_id, self.reserved_code1,
                    self.content_propagator, self.propagate_id, self.reserved_code2,
                ),
                strict=True,
            )
        )  # fmt: skip

    def to_json(self) -> str:
        """The JSON object as it is stored, without blanks."""
        return json.dumps(self.values(), ensure_ascii=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> AigcLabel:
        """Read a stored label, ours or another producer's. Raises ValueError saying what is wrong with it."""
        if len(text) > _LONGEST_TEXT:
            raise ValueError("the AIGC label is too long")
        try:
            found: object = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ValueError("the AIGC label is not JSON") from error
        values = cast("dict[str, object]", found) if isinstance(found, dict) else {}
        texts = {key: values.get(key, "") for key in KEYS}
        wrong = [key for key, value in texts.items() if not isinstance(value, str)]
        if wrong or not texts["Label"]:
            raise ValueError(f"the AIGC label has no usable {wrong[0] if wrong else 'Label'}")
        try:
            label, producer, produce_id, *others = (str(texts[key]) for key in KEYS)
            return AigcLabel(producer, produce_id, label, *others)
        except InvalidSetting as error:
            raise ValueError(error.detail) from error
