from __future__ import annotations

from fractions import Fraction

import pytest
from av.codec import codecs_available
from av.codec.context import CodecContext

from secondface.errors import CodecUnavailable, InvalidOption, OutputFormatUnsupported
from secondface.media import encoders
from secondface.media.encoder_options import family_of, ffmpeg_options, is_of_card
from secondface.media.encoders import VideoOptions, choose_encoder, container_for, require_encodable, why_not
from secondface.media.layouts import PlaneLayout, layout_of


def layout(name: str) -> PlaneLayout:
    found = layout_of(name)
    assert found is not None
    return found


@pytest.mark.parametrize(("container", "pixels", "options", "encoder", "written"), [
    ("mp4", "yuv420p", {}, "libx264", "yuv420p"), ("mp4", "yuv420p10le", {}, "libx265", "yuv420p10le"),
    ("webm", "yuv420p", {}, "libvpx-vp9", "yuv420p"), ("webm", "yuv420p10le", {}, "libsvtav1", "yuv420p10le"),
    ("webm", "yuva420p", {}, "libvpx-vp9", "yuva420p"), ("matroska", "yuva444p12le", {}, "libvpx-vp9", "yuva420p"),
    ("mp4", "yuva420p", {}, "libx264", "yuv420p"), ("mp4", "yuv420p10le", {"depth": 8}, "libx264", "yuv420p"),
    ("mp4", "yuv420p", {"depth": 10}, "libx265", "yuv420p10le"),
    ("mp4", "yuv422p", {"codec": "h264", "depth": 10}, "libx264", "yuv422p10le"),
    ("mp4", "gray", {}, "libx264", "yuv420p"), ("mp4", "yuv411p", {}, "libx264", "yuv422p"),
    ("mp4", "yuv420p", {"encoder": "libx265"}, "libx265", "yuv420p"),
    ("webm", "yuv420p", {"encoder": "libsvtav1", "preset": "fast"}, "libsvtav1", "yuv420p"),
])  # fmt: skip
def test_the_nearest_encoder(
    container: str, pixels: str, options: dict[str, object], encoder: str, written: str
) -> None:
    choice = choose_encoder(container, VideoOptions(**options), layout(pixels), (64, 48))  # type: ignore[arg-type]
    assert (choice.encoder, choice.layout.name) == (encoder, written)
    lost = layout(pixels).alpha and not choice.layout.alpha
    assert any("alpha is left out" in note for note in choice.notes) == lost


@pytest.mark.parametrize("options", [
    {"preset": "hasty"}, {"preset": "5"}, {"codec": "vp9", "preset": "hasty"}, {"codec": "av1", "preset": "77"},
    {"codec": "av1", "quality": 64}, {"quality": 52, "encoder": "libx264"}, {"encoder": "libx263"},
    {"encoder": "h264_cuda"}, {"encoder": "prores_nvenc"}, {"encoder": "h264_nvenc", "codec": "av1"},
    {"rate": Fraction(0)}, {"rate": Fraction(-1)}, {"rate": Fraction(1001)}, {"scale": (0, 0)}, {"scale": (-2, 4)},
    {"scale": (20_000, 4)}, {"volume": Fraction(-1)}, {"encoder": "gpu", "codec": "av1", "quality": 64},
    {"encoder": "gpu", "preset": "hasty"}, {"scale": (0, 720)},
])  # fmt: skip
def test_options_that_cannot_be_are_said_before_any_work(options: dict[str, object]) -> None:
    with pytest.raises(InvalidOption):
        require_encodable("out.mp4", VideoOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "options"), [
    ("out.mpg", {}), ("out.avi", {}), ("out.ts", {}), ("out.wmv", {}), ("out.3gp", {}), ("out", {}),
    ("out.webm", {"codec": "h264"}), ("out.webm", {"encoder": "libx264"}), ("out.mov", {"codec": "av1"}),
])  # fmt: skip
def test_containers_that_are_not_written(name: str, options: dict[str, object]) -> None:
    with pytest.raises(OutputFormatUnsupported):
        require_encodable(name, VideoOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [
    {}, {"preset": "veryslow"}, {"codec": "vp9", "preset": "-3"}, {"codec": "vp9", "preset": "slow"},
    {"codec": "av1", "preset": "13"}, {"encoder": "gpu"}, {"encoder": "gpu", "preset": "p2"}, {"scale": (1280, 720)},
])  # fmt: skip
def test_options_that_can_be(options: dict[str, object]) -> None:
    require_encodable("out.mp4", VideoOptions(**options))  # type: ignore[arg-type]


def test_an_encoder_that_is_not_here_is_said_with_the_remedy() -> None:
    missing = [name for name in ("h264_videotoolbox", "h264_amf", "h264_qsv", "h264_nvenc") if why_not(name)]
    assert missing, "no machine has them all"
    for name in missing:
        with pytest.raises(CodecUnavailable, match=name) as caught:
            choose_encoder("mp4", VideoOptions(encoder=name), layout("yuv420p"), (64, 48))
        assert "--encoder gpu" in caught.value.remedy


def test_what_the_machine_has_can_be_listed() -> None:
    found = encoders.gpu_encoders()
    assert all(name in codecs_available for name in found)
    assert {name for name, reason in found.items() if not reason} == {name for name in found if not why_not(name)}


def test_any_gpu_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "why_not", lambda _, __: "it is not here")
    choice = choose_encoder("mp4", VideoOptions(encoder="gpu", preset="slow"), layout("yuv420p"), (64, 48))
    assert (choice.encoder, choice.options["preset"]) == ("libx264", "slow")
    assert choice.notes[0].startswith("no GPU encoder works here (h264_nvenc,")
    choice = choose_encoder("mp4", VideoOptions(encoder="gpu", preset="p4"), layout("yuv420p"), (64, 48))
    assert (choice.options["preset"], choice.notes[1]) == (
        "veryfast", "libx264 has no preset p4: its own is used",
    )  # fmt: skip
    monkeypatch.setattr(encoders, "why_not", lambda name, _: "" if name.endswith("nvenc") else "it is not here")
    choice = choose_encoder("mp4", VideoOptions(encoder="gpu", preset="p7"), layout("yuv420p10le"), (64, 48))
    assert (choice.encoder, choice.fed_as, choice.layout.name) == ("hevc_nvenc", "p010le", "yuv420p10le")
    assert (choice.options["preset"], choice.notes) == ("p7", ())
    choice = choose_encoder("mp4", VideoOptions(encoder="gpu", preset="veryslow"), layout("yuv420p"), (64, 48))
    assert choice.notes == ("h264_nvenc has no preset veryslow: its own is used",)


@pytest.mark.parametrize(("encoder", "expected"), [
    ("h264_nvenc", {"cq": "23"}), ("av1_qsv", {"global_quality": "23"}), ("hevc_amf", {"qp_i": "23", "qp_p": "23"}),
    ("hevc_vaapi", {"qp": "23"}), ("av1_vaapi", {"global_quality": "23"}), ("libsvtav1", {"crf": "23"}),
    ("h264_videotoolbox", {"flags": "+qscale", "global_quality": str(118 * 55)}),
])  # fmt: skip
def test_each_maker_has_its_own_word_for_quality(encoder: str, expected: dict[str, str]) -> None:
    options = ffmpeg_options(encoder, 23, None, 2, "")
    assert expected.items() <= options.items()


def test_a_preset_that_is_named_is_the_encoders_own() -> None:
    """What makes the default quicker and steadier belongs to it alone."""
    assert ffmpeg_options("libx264", 18, "veryfast", 2, "") == {"crf": "18", "preset": "veryfast"}
    quick = ffmpeg_options("libx264", 18, None, 2, "")
    assert quick.items() > {"crf": "18", "preset": "veryfast"}.items()
    known = CodecContext.create("libx264", "w").supported_options
    assert quick.keys() <= {option.name for option in (*known.generic, *known.private)}


@pytest.mark.parametrize("encoder", ["h264_nvenc", "hevc_nvenc", "av1_nvenc", "h264_qsv", "hevc_qsv", "av1_qsv",
                                     "h264_amf", "hevc_amf", "av1_amf", "hevc_vaapi", "h264_videotoolbox"])  # fmt: skip
def test_ffmpeg_knows_every_option_of_a_gpu_encoder(encoder: str) -> None:
    if encoder not in codecs_available:
        pytest.skip(f"this build of FFmpeg has no {encoder}")
    known = CodecContext.create(encoder, "w").supported_options
    by_name = {option.name: option for option in (*known.generic, *known.private)}
    for name, value in ffmpeg_options(encoder, 23, None, 2, "").items():
        assert name in by_name
        assert value.isdigit() or value in {choice.name for choice in by_name[name].choices}
    for preset in family_of(encoder).presets:
        options = ffmpeg_options(encoder, 23, preset, 2, "")
        (name,) = [key for key, value in options.items() if value == preset]
        assert preset in {choice.name for choice in by_name[name].choices}


def test_depth_that_an_encoder_has_not_is_refused() -> None:
    with pytest.raises(InvalidOption, match="depth 10"):
        choose_encoder("webm", VideoOptions(codec="vp9", depth=10), layout("yuv420p"), (64, 48))


def test_names_are_read_in_any_case() -> None:
    assert [container_for(name) for name in ("a.MP4", "b.m4v", "c.Mov", "d.MKV", "e.webm")] == [
        "mp4", "mp4", "mov", "matroska", "webm",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["gpu", "h264_nvenc", "av1_qsv", "hevc_vaapi", "h264_cuvid", "cuda", "vulkan"])
def test_the_names_of_cards(name: str) -> None:
    assert is_of_card(name)


@pytest.mark.parametrize("name", [None, "libx264", "libvpx-vp9", "libdav1d", "h264", "wrapped_avframe"])
def test_the_names_of_processors(name: str | None) -> None:
    assert not is_of_card(name)
