"""Pictures judged by an external service over HTTP: small copies in a signed request, opinions back.

Decides what is sent, how long an answer may take, and what a silence means: nothing is handed out, or it is flagged for
a reviewer. Must not know thresholds or jobs.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import httpx
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from secondface.errors import ModerationUnavailable
from secondface.frames import Sessions
from secondface.media.small_jpeg import small_jpeg
from secondface.observe import log
from secondface.pipeline.moderation import UNJUDGED, Opinion, Sample
from secondface.spec.signing import key_of, signed_headers

_MOST_ANSWER_BYTES = 1 << 20
_TRIES = 2


class _Opinion(BaseModel):
    rule: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,39}$")]
    score: float | None = Field(default=None, ge=0, le=1)
    verdict: Literal["allow", "hold", "refuse"] | None = None


class _Picture(BaseModel):
    opinions: tuple[_Opinion, ...] = Field(max_length=32)


class _Answer(BaseModel):
    pictures: tuple[_Picture, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTerms:
    """Where the judge is, and what its silence means."""

    url: str
    secret: str
    """`whsec_` and base64, as a webhook's."""
    timeout_s: float = 5.0
    """For one try, from the first byte sent to the last one read."""
    flags: bool = False
    """Whether pictures are flagged for a reviewer when no answer comes; else the run fails and may be tried again."""


class ServiceModeration:
    """The judge at an address."""

    at_once = 8

    def __init__(self, terms: ServiceTerms, now_s: Callable[[], float] = time.time) -> None:
        """Raises InvalidSetting for a secret that is none."""
        self._terms, self._key, self._now_s = terms, key_of(terms.secret), now_s
        self._tls = httpx.create_ssl_context(trust_env=False)  # reading all authorities takes longer than a request

    def judge(self, samples: Sequence[Sample], sessions: Sessions) -> Sequence[Sequence[Opinion]]:  # noqa: ARG002
        """As Moderation.judge."""
        if not samples:
            return []
        try:
            return self._asked(samples)
        except ModerationUnavailable as error:
            log("moderation.away", "warning", detail=error.detail, flags=self._terms.flags)
            if not self._terms.flags:
                raise
            return [[Opinion(rule=UNJUDGED, verdict="hold")] for _ in samples]

    def _asked(self, samples: Sequence[Sample]) -> Sequence[Sequence[Opinion]]:
        body, name = _body(samples), f"mod_{uuid.uuid4().hex}"
        reason = ""
        for _ in range(_TRIES):
            try:
                return self._opinions(asyncio.run(self._posted(body, name)), len(samples))
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                reason = type(error).__name__
        raise ModerationUnavailable(f"It does not answer: {reason}.")

    async def _posted(self, body: bytes, name: str) -> bytes:
        headers = {"content-type": "application/json", **signed_headers(self._key, name, int(self._now_s()), body)}
        content = bytearray()
        # Each piece of an answer, and of its head, may come within the client's time-out, and a drip of them never end.
        async with (
            asyncio.timeout(self._terms.timeout_s),
            self._client() as client,
            client.stream("POST", self._terms.url, content=body, headers=headers) as reply,
        ):
            if reply.status_code >= 500:
                raise httpx.ReadError(f"status {reply.status_code}")
            if reply.status_code != 200:
                raise ModerationUnavailable(f"It answered {reply.status_code}.")
            async for piece in reply.aiter_bytes():
                content += piece
                if len(content) > _MOST_ANSWER_BYTES:
                    raise ModerationUnavailable("Its answer is too long.")
        return bytes(content)

    def _client(self) -> httpx.AsyncClient:
        # No proxy of the environment and no redirect: pictures of people go to that address and nowhere else.
        return httpx.AsyncClient(
            verify=self._tls, trust_env=False, follow_redirects=False, timeout=httpx.Timeout(self._terms.timeout_s)
        )

    @staticmethod
    def _opinions(content: bytes, pictures: int) -> Sequence[Sequence[Opinion]]:
        try:
            answer = _Answer.model_validate_json(content)
        except ValidationError as error:
            raise ModerationUnavailable(f"Its answer cannot be read: {error.error_count()} problems.") from error
        if len(answer.pictures) != pictures:
            raise ModerationUnavailable(f"It judged {len(answer.pictures)} of {pictures} pictures.")
        return [
            [Opinion(rule=each.rule, score=each.score, verdict=each.verdict) for each in picture.opinions]
            for picture in answer.pictures
        ]


def _body(samples: Sequence[Sample]) -> bytes:
    pictures = [
        {
            "input": each.place.input, "frame": each.place.frame, "at_ms": each.place.at_ms,
            "image": base64.b64encode(small_jpeg(each.rgb)).decode(),
        }
        for each in samples
    ]  # fmt: skip
    return json.dumps({"pictures": pictures}, separators=(",", ":")).encode()
