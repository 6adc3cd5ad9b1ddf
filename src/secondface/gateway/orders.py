"""From a request and what its inputs are to an order for a worker and a submission for admission.

Decides the output's format, what the order is compared by, and how big it is. Must not decide whether it is accepted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from secondface.control.admission import Probed, Rate, Submission
from secondface.control.auth import Caller
from secondface.control.tiers import tier_for
from secondface.domain.jobs import Fact
from secondface.errors import InvalidOption, InvalidPipeline, MediaUnsupported, OutputFormatUnsupported
from secondface.gateway.inputs import KnownInput
from secondface.gateway.service import Service
from secondface.spec.faces import FaceRule
from secondface.spec.graph import Plan
from secondface.spec.moderation import ContentRules
from secondface.spec.outputs import Moment
from secondface.spec.schemas import Limits
from secondface.spec.service import JobOptions, OutputFormat
from secondface.spec.work import InputFacts, StoredInput, StoredMapping, WorkOrder

_STILLS: dict[OutputFormat, str] = {"jpeg": "jpg", "png": "png", "webp": "webp", "avif": "avif", "tiff": "tiff"}
_MOVING: dict[OutputFormat, str] = {
    "mp4": "mp4", "mov": "mov", "mkv": "mkv", "webm": "webm", "gif": "gif", "webp": "webp", "apng": "apng",
}  # fmt: skip
_OWN: dict[str, OutputFormat] = {
    "jpeg": "jpeg", "png": "png", "webp": "webp", "avif": "avif", "tiff": "tiff", "gif": "gif",
}  # fmt: skip
_UNKNOWN_FRAMES = 10_000
"""Where a file does not say how many frames it has."""
_PERSON_US = 3_000_000
"""A processor's time for making a person of source pictures that it has not seen."""
_MANY_FACES = 2
"""What `all` and `left-to-right` count as, because only the pixels can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All inputs of a request, in the places that it names."""

    sources: Sequence[KnownInput]
    target: KnownInput
    reference: KnownInput | None = None
    mapping: Sequence[tuple[int, int | None, KnownInput | None]] = ()

    @property
    def people(self) -> Sequence[KnownInput]:
        """Those that show who is meant: all but the target."""
        likes = [self.reference, *(like for _, _, like in self.mapping)]
        return [*self.sources, *(each for each in likes if each is not None)]

    @property
    def inputs(self) -> Sequence[KnownInput]:
        """All of them."""
        return [*self.people, self.target]


class Orders:
    """Makes orders and submissions."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._made_by: str | None = None

    def order(
        self, options: JobOptions, material: Material, rules: ContentRules | None = None
    ) -> tuple[WorkOrder, Plan]:  # fmt: skip
        """The order with its compiled plan. Raises BadRequest errors, and MediaUnsupported for a person in a video."""
        for each in material.people:
            if each.facts.kind == "video":
                raise MediaUnsupported(f"{each.place}: a video ({each.facts.format_name}), not a picture")
        rule = _rule(options.faces, material.reference is not None)
        sources = [each.named(f"source-{at}") for at, each in enumerate(material.sources)]
        people = [tuple(sources)] if options.same_person and sources else [(each,) for each in sources]
        mapping = [
            StoredMapping(source=source, index=index, like=like.named(f"like-{at}") if like else None)
            for at, (source, index, like) in enumerate(material.mapping)
        ]
        order = WorkOrder(
            sources=tuple(people), target=material.target.named("target"),
            output_name=f"out.{_ending(options.output, material.target.facts)}", rule=rule.kind, indices=rule.indices,
            like=material.reference.named("like") if material.reference else None, mapping=tuple(mapping),
            restore=options.restore, pipeline=options.pipeline, label=options.label, video=options.video,
            still=options.still, keep_metadata=options.keep_metadata, allow_no_face=options.allow_no_face,
            likeness_confirmed=options.likeness_confirmed, rules=rules or ContentRules(),
            facts={each.stored.key: each.facts for each in material.inputs},
        )  # fmt: skip
        # The engine's own request checks the rest: counts of sources, mappings, options that exclude each other.
        plan = order.run_request(_imagined, Path("/imagined") / order.output_name).plan()
        return order.model_copy(update={"speed_key": _speed_key(plan, material.target.facts)}), plan

    def submission(
        self, caller: Caller, options: JobOptions, material: Material, idempotency_key: str | None = None
    ) -> Submission:
        """What admission judges. Raises BadRequest errors."""
        terms = caller.account.plan
        rules = ContentRules(hold_permille=terms.nsfw_hold_permille, refuse_permille=terms.nsfw_refuse_permille)
        order, plan = self.order(options, material, rules)
        if plan.label_waiver is not None and not terms.label_optional:
            raise InvalidPipeline("The account's plan does not let the visible label be left off.")
        if not _counted(order):  # only pixels can tell how many faces there are, so the plan's limit goes with the job
            order = order.model_copy(update={"limits": Limits(max_faces=terms.max_faces)})
        facts, deadline = material.target.facts, options.deadline_s
        frames = _frames(order, facts)
        guess_us = _guess_us(plan, order, facts, frames)

        def rate(tier: str) -> Rate:
            return self._service.speeds.rate(tier, order.speed_key, guess_us, frames)

        tier = options.tier or tier_for(self._service.tiers, lambda each: rate(each).active_us * frames // 1000)
        return Submission(
            spec=order.model_dump_json(), digest=_digest(order, options.model_dump_json()), tier=tier,
            market=options.market, family="*",
            probed=Probed(
                frames=frames, pixels=facts.width * facts.height, faces=_faces(order), counted=_counted(order),
                result=_format(order),
            ),
            rate=rate(tier),
            priority=options.priority,
            deadline_ms=None if deadline is None else self._service.clock.now_ms() + deadline * 1000,
            max_cost_micros=options.max_cost_micros, idempotency_key=idempotency_key,
            # Who was put on the list of protected people since must not come out of the cache.
            cache_key=_digest(
                order, f"{caller.account.id} {self._maker()} {tier} {self._service.protected.version()}"
            ),
            uses_likeness=plan.swaps and bool(order.sources), likeness_confirmed=options.likeness_confirmed,
            said=facts_of(options, material, plan.label_waiver),
        )  # fmt: skip

    def require_served(self, tier: str) -> None:
        """Refuse a tier that nobody works for, instead of letting a job wait for ever. Raises InvalidOption."""
        if tier not in self._service.tiers:
            raise InvalidOption(f"Nobody serves tier {tier} here; there is {', '.join(self._service.tiers)}.")

    def _maker(self) -> str:
        """What results are made and marked by, besides an order; it does not change while this process runs."""
        if self._made_by is None:
            models = " ".join(f"{each.name}@{each.version}" for each in self._service.models())
            self._made_by = f"{self._service.marked_by} {models}"
        return self._made_by


def waives_label(options: JobOptions) -> bool:
    """Whether the visible label is to be left off, under an acknowledgement that the job keeps."""
    label = options.label or (options.pipeline.label if options.pipeline is not None else None)
    return label is not None and not label.visible


def facts_of(options: JobOptions, material: Material, label_waiver: str | None = None) -> dict[str, Fact]:
    """What the audit keeps of a request: digests of its inputs, what its caller confirmed, never a name or a pixel."""
    facts: dict[str, Fact] = {"target_sha256": material.target.stored.sha256}
    for number, each in enumerate(material.sources):
        facts[f"source_{number}_sha256"] = each.stored.sha256
    if material.reference is not None:
        facts["reference_sha256"] = material.reference.stored.sha256
    for number, (_, _, like) in enumerate(material.mapping):
        if like is not None:
            facts[f"like_{number}_sha256"] = like.stored.sha256
    facts["likeness_confirmed"] = options.likeness_confirmed
    if label_waiver is not None:
        facts["label_waiver"] = label_waiver
    return facts


def _rule(words: str, has_reference: bool) -> FaceRule:
    if words.strip().lower() == "like":
        if not has_reference:
            raise InvalidOption("faces=like needs a reference picture.", option="faces")
        return FaceRule(kind="like", like=Path("reference"))
    if has_reference:
        raise InvalidOption("A reference picture belongs to faces=like.", option="faces")
    if words.strip().lower().startswith("like:"):
        raise InvalidOption("faces: write like, and give the picture as the reference.", option="faces")
    return FaceRule.parse(words)


def _ending(wanted: OutputFormat, target: InputFacts) -> str:
    formats, usual = (_STILLS, "png") if target.kind == "still" else (_MOVING, "mp4")
    if wanted == "auto":
        own = _OWN.get(target.format_name.split(",")[0].lower())
        return formats.get(own, usual) if own is not None else usual
    if wanted not in formats:
        raise OutputFormatUnsupported(f"A {target.kind} can be {', '.join(formats)}.", output=wanted)
    return formats[wanted]


def _format(order: WorkOrder) -> str:
    """The name of the result's format, which `_ending` made an ending of."""
    ending = order.output_name.rpartition(".")[2]
    return next(name for name, known in (_STILLS | _MOVING).items() if known == ending)


def _imagined(each: StoredInput) -> Path:
    return Path("/imagined/inputs") / each.name


def _frames(order: WorkOrder, facts: InputFacts) -> int:
    """Frames of the part that is asked for, as far as the file says."""
    frames = facts.frames if facts.frames is not None else _UNKNOWN_FRAMES
    if facts.kind == "still":
        return 1
    end = _place(order.video.end, frames, facts.duration_ms, frames)
    begin = _place(order.video.begin, frames, facts.duration_ms, 0)
    return max(1, min(end, frames) - min(begin, frames))


def _place(moment: Moment | None, frames: int, duration_ms: int | None, otherwise: int) -> int:
    if moment is None:
        return otherwise
    if moment.frame is not None:
        return moment.frame
    if moment.seconds is None or not duration_ms:
        return otherwise
    return int(moment.seconds * 1000 * Fraction(frames, duration_ms))


def _faces(order: WorkOrder) -> int:
    rule = FaceRule(kind=order.rule, indices=order.indices, like=Path("reference") if order.like else None)
    if not order.sources:
        return 1  # nobody's face is put on anybody
    most = rule.for_sources(len(order.sources)).most_faces()
    return max(len(order.sources), len(order.mapping), _MANY_FACES if most is None else most)


def _counted(order: WorkOrder) -> bool:
    """Whether no more faces can be given than were counted: each source is given to everybody by `all` alone."""
    return not order.sources or bool(order.mapping) or order.rule != "all"


def _speed_key(plan: Plan, facts: InputFacts) -> str:
    steps = "+".join(step.name for step in plan.steps)
    return f"{steps}@{facts.kind}/{(facts.width * facts.height).bit_length()}"


def _guess_us(plan: Plan, order: WorkOrder, facts: InputFacts, frames: int) -> int:
    """A processor's time for one frame, before anything was measured; what is done once is spread over all frames."""
    megapixels = Fraction(facts.width * facts.height, 10**6)
    swaps = any(step.name == "face_swap" for step in plan.steps)
    once_us = (400_000 + swaps * len(order.sources) * _PERSON_US) // frames
    heavy = sum(8 for step in plan.steps if step.name in ("upscale", "denoise"))
    return once_us + int(60_000 + 120_000 * megapixels * (1 + heavy))


def _digest(order: WorkOrder, more: str) -> str:
    """What the order is compared by: contents, not the places where they lie, nor what a probe says of them."""
    words = order.model_dump_json(exclude={"facts"})
    for each in order.inputs:
        words = words.replace(json.dumps(each.key), '""')
    return hashlib.sha256(f"{words}\n{more}".encode()).hexdigest()
