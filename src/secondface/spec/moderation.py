"""What follows when something is found in a job's pictures: thresholds, bound when the job is accepted."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

REFUSED_PERMILLE = 850


class ContentRules(BaseModel):
    """From which score a frame keeps the result back for a reviewer, and from which it ends the run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hold_permille: int | None = Field(default=500, ge=1, le=1000)
    refuse_permille: int | None = Field(default=REFUSED_PERMILLE, ge=1, le=1000)
    reviewed: bool = True
    """Whether there is somebody who looks at what is held; without, a judge's doubt is a refusal."""
