"""Every step kind that a pipeline may name: its parameters, port types and the models that it needs.

Declares what a step is, in two languages; must not know how a step works (`pipeline/steps.py`) nor load numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

DETECTION_MODELS: Final = ("face_detect_full192", "face_detect_back256", "face_mesh_478", "face_id_dlib128")

Denoise = Literal["none", "light", "strong"]
ENLARGERS: Final[Mapping[Denoise, str]] = MappingProxyType(
    {"none": "sr2x_photo", "light": "sr2x_photo_dn1", "strong": "sr2x_photo_dn3"}
)
"""The super-resolution model for each strength of denoising."""

Language = Literal["en", "zh"]
Share = Annotated[float, Field(ge=0, le=1)]
Signed: Final = Field(ge=-1, le=1)


class Port(StrEnum):
    """What flows along an edge between two steps."""

    FRAMES = "frames"
    """Frames in presentation order."""
    FACES = "faces"
    """Frames together with the faces found in them and the source chosen for each."""
    LABELLED = "labelled"
    """Frames that carry the visible label: no step may change them any more."""
    MARKED = "marked"
    """The finished file with its metadata marks."""


@dataclass(frozen=True, slots=True)
class Text:
    """One sentence in the languages that the product speaks."""

    en: str
    zh: str

    def of(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


def _about(en: str, zh: str) -> FieldInfo:
    """Describe a parameter; the Chinese sentence travels beside the English one in the JSON schema."""
    described: FieldInfo = Field(description=en, json_schema_extra={"description_zh": zh})
    return described


class StepParameters(BaseModel):
    """What a caller may set on a step; unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def models(self) -> tuple[str, ...]:
        """Names of the models that the step loads with these parameters."""
        return ()


class AnalyseParameters(StepParameters):
    """How faces are found and followed."""

    def models(self) -> tuple[str, ...]:
        return DETECTION_MODELS


class DenoiseParameters(StepParameters):
    """How whole frames are denoised."""

    level: Annotated[Literal["light", "strong"], _about("How much noise to remove.", "去噪强度。")] = "light"

    def models(self) -> tuple[str, ...]:
        return (ENLARGERS[self.level],)


class FaceRestoreParameters(StepParameters):
    """How faces are sharpened."""

    strength: Annotated[
        Literal["auto"] | Share,
        _about("0 to 1, or auto: as much as the face needs.", "0 到 1，或 auto：按需要。"),
    ] = "auto"
    denoise: Annotated[
        Denoise,
        _about("Noise to remove from the face before it is sharpened.", "锐化之前对人脸去噪的强度。"),
    ] = "none"

    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((ENLARGERS["none"], ENLARGERS[self.denoise])))


class FaceSwapParameters(StepParameters):
    """How the source's face is put on."""

    shape: Annotated[
        Share | None,
        _about(
            "How far features take the source's shape; empty: the best.",
            "五官向来源靠拢的程度；留空为最佳值。",
        ),
    ] = None
    occlusion: Annotated[
        bool, _about("Keep hair, hands and glasses in front of the face.", "保留脸前的头发、手和眼镜等遮挡物。")
    ] = True

    def models(self) -> tuple[str, ...]:
        # Only a source whose face is small is enlarged, but its pixels are not known yet.
        return (ENLARGERS["none"],)


class ColourParameters(StepParameters):
    """How colour is corrected."""

    exposure: Annotated[float, Field(ge=-3, le=3), _about("Stops of light to add or take.", "曝光补偿（档）。")] = 0.0
    temperature: Annotated[float, Signed, _about("-1 cooler, 1 warmer.", "色温：-1 更冷，1 更暖。")] = 0.0
    tint: Annotated[float, Signed, _about("-1 greener, 1 more magenta.", "色调：-1 偏绿，1 偏品红。")] = 0.0
    contrast: Annotated[float, Signed, _about("-1 flatter, 1 stronger.", "对比度：-1 更平，1 更强。")] = 0.0
    saturation: Annotated[float, Signed, _about("-1 grey, 1 vivid.", "饱和度：-1 灰，1 鲜艳。")] = 0.0
    auto: Annotated[
        bool, _about("Balance white and exposure by what the frames show.", "根据画面自动校正白平衡和曝光。")
    ] = False


class UpscaleParameters(StepParameters):
    """How much frames are enlarged."""

    scale: Annotated[Literal[2, 4], _about("Times wider and higher.", "宽和高的放大倍数。")] = 2

    def models(self) -> tuple[str, ...]:
        return (ENLARGERS["none"],)


class LabelParameters(StepParameters):
    """What the visible label says and where it stands."""

    languages: Annotated[Literal["zh+en", "zh", "en"], _about("Languages of the label.", "标识的语言。")] = "zh+en"
    position: Annotated[
        Literal["auto", "bottom-right", "bottom-left", "top-right", "top-left"],
        _about("The corner, or auto: the first one without a face.", "所在角落；auto 选择没有人脸的角落。"),
    ] = "auto"


class WatermarkParameters(StepParameters):
    """The invisible watermark has no parameters: it cannot be tuned away."""


class MetadataParameters(StepParameters):
    """The metadata marks have no parameters: they cannot be tuned away."""


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind of step: what it takes, what it gives, and what may be set on it."""

    name: str
    title: Text
    description: Text
    parameters: type[StepParameters]
    takes: Port
    gives: Port
    compute: bool = True
    """Whether its busy time counts as device time; writing marks does not."""
    by_compiler: bool = False
    """Only the compiler places it; a caller cannot name it."""
    once: bool = False
    """At most one in a pipeline."""


_KINDS: Final = (
    StepKind(
        "analyse", Text("Find faces", "查找人脸"),
        Text("Finds and follows faces and decides who gets which source.", "查找并跟踪人脸，决定每张脸使用哪个来源。"),
        AnalyseParameters, Port.FRAMES, Port.FACES, by_compiler=True,
    ),
    StepKind(
        "denoise", Text("Denoise", "去噪"),
        Text("Removes noise from whole frames.", "去除整幅画面的噪点。"),
        DenoiseParameters, Port.FRAMES, Port.FRAMES,
    ),
    StepKind(
        "face_restore", Text("Restore faces", "人脸修复"),
        Text("Sharpens the chosen faces with a super-resolution model.", "用超分辨率模型提升所选人脸的清晰度。"),
        FaceRestoreParameters, Port.FACES, Port.FACES,
    ),
    StepKind(
        "face_swap", Text("Swap faces", "换脸"),
        Text("Puts the source faces onto the chosen faces.", "把来源人脸换到所选人脸上。"),
        FaceSwapParameters, Port.FACES, Port.FACES, once=True,
    ),
    StepKind(
        "colour", Text("Correct colour", "调色"),
        Text("Corrects exposure, white balance, contrast and saturation.", "校正曝光、白平衡、对比度和饱和度。"),
        ColourParameters, Port.FRAMES, Port.FRAMES,
    ),
    StepKind(
        "upscale", Text("Upscale", "放大"),
        Text("Enlarges frames with a super-resolution model.", "用超分辨率模型放大画面。"),
        UpscaleParameters, Port.FRAMES, Port.FRAMES, once=True,
    ),
    StepKind(
        "label", Text("Visible label", "可见标识"),
        Text("Writes “AI生成 / AI-generated” in a corner of each frame.", "在每帧的角落写上“AI生成 / AI-generated”。"),
        LabelParameters, Port.FRAMES, Port.LABELLED, once=True,
    ),
    StepKind(
        "watermark", Text("Invisible watermark", "隐形水印"),
        Text("Lays an id over the whole picture that is not seen, and survives encoding, scaling and cropping.",
             "在整幅画面中嵌入看不见的编号，经编码、缩放和裁剪后仍可读出。"),
        WatermarkParameters, Port.FRAMES, Port.LABELLED, compute=False, by_compiler=True, once=True,
    ),
    StepKind(
        "metadata", Text("Metadata marks", "元数据标识"),
        Text("Writes the AIGC and IPTC marks and reads them back.", "写入并回读 AIGC 与 IPTC 元数据标识。"),
        MetadataParameters, Port.FRAMES, Port.MARKED, compute=False, by_compiler=True,
    ),
)  # fmt: skip

STEP_KINDS: Final[Mapping[str, StepKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})
"""All kinds by name, in the order in which a pipeline usually uses them."""


def callable_kinds() -> tuple[StepKind, ...]:
    """The kinds that a caller may name in a pipeline."""
    return tuple(kind for kind in _KINDS if not kind.by_compiler)


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """One parameter as help shows it; `values` is a range or a list of choices in words."""

    name: str
    values: str
    default: str
    description: Text


def parameters_of(kind: StepKind) -> tuple[ParameterInfo, ...]:
    """The parameters of a kind with ranges, defaults and descriptions in both languages."""
    properties = kind.parameters.model_json_schema().get("properties", {})
    return tuple(
        ParameterInfo(
            name,
            _values(schema),
            _default(kind.parameters.model_fields[name].default),
            Text(str(schema.get("description", "")), str(schema.get("description_zh", ""))),
        )
        for name, schema in properties.items()
    )


def _default(value: object) -> str:
    """A default in the words of `_values`."""
    if value is None:
        return "empty"
    return str(value) if not isinstance(value, bool) else "yes" if value else "no"


def _values(schema: Mapping[str, object]) -> str:
    """A JSON schema's allowed values in a few words: `0..1`, `light | strong`, `yes | no`."""
    if options := cast("list[Mapping[str, object]]", schema.get("anyOf", [])):
        return " | ".join(_values(option) for option in options)
    if choices := cast("list[object]", schema.get("enum", [schema["const"]] if "const" in schema else [])):
        return " | ".join(str(choice) for choice in choices)
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['minimum']:g}..{schema['maximum']:g}"
    return {"boolean": "yes | no", "null": "empty"}.get(str(schema.get("type")), str(schema.get("type")))
