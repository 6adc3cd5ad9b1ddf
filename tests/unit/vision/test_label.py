"""The label is large enough, readable, out of the faces, steady, and touches nothing but its own box."""

from collections.abc import Callable

import numpy as np
import pytest

from secondface.frames import RGB8, ArrayFrame, Box, Face, FrameWork
from secondface.vision.label import GLYPH_SHARE, LabelLanguages, LabelPainter, place_label

SIZES = [
    (256, 256), (320, 240), (360, 640), (480, 480), (512, 768), (540, 960), (640, 360), (641, 361),
    (720, 720), (720, 1280), (800, 332), (848, 1264), (1024, 1024), (1080, 1920), (1280, 720),
    (1696, 2528), (1920, 1080), (2048, 1549), (2560, 1440),
    (3840, 2160),
]  # fmt: skip


def flat(width: int, height: int, level: int) -> RGB8:
    return np.full((height, width, 3), level, np.uint8)


def face_at(x0: float, y0: float, x1: float, y1: float) -> Face:
    """A face whose points fill the oval inside a box evenly."""
    angle, radius = np.arange(478) * 2.4, np.sqrt(np.arange(478) / 477)
    points = np.zeros((478, 3), np.float32)
    points[:, 0] = (x0 + x1) / 2 + (x1 - x0) / 2 * radius * np.cos(angle)
    points[:, 1] = (y0 + y1) / 2 + (y1 - y0) / 2 * radius * np.sin(angle)
    return Face(points, 1.0)


def tallest_letter_px(rgb: RGB8, box: Box) -> int:
    """Rows from the top to the bottom of the first letter ('A', a capital) in white ink, over all pixels in the box."""
    ink = rgb[box.y0 : box.y1, box.x0 : box.x1].min(axis=2) > 150
    columns = np.flatnonzero(ink.any(axis=0))
    gaps = np.flatnonzero(np.diff(columns) > 1)
    first = ink[:, columns[0] : columns[gaps[0]] + 1]
    rows = np.flatnonzero(first.any(axis=1))
    return int(rows[-1] - rows[0] + 1)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_capitals_measure_five_percent_of_the_shortest_side(width: int, height: int) -> None:
    frame = ArrayFrame(flat(width, height, 60))
    painter = LabelPainter()
    box = painter.paint(frame)
    assert tallest_letter_px(frame.rgb, box) >= GLYPH_SHARE * min(width, height)
    assert painter.placement is not None
    assert painter.placement.fits


@pytest.mark.parametrize("languages", ["zh", "en", "zh+en"])
def test_each_language_has_its_own_text_and_chinese_glyphs_are_not_question_marks(languages: LabelLanguages) -> None:
    frame = ArrayFrame(flat(640, 360, 0))
    box = LabelPainter(languages).paint(frame)
    widths = {"zh": 60, "en": 120, "zh+en": 180}
    assert box.width > widths[languages]
    if languages == "zh":
        ink = frame.rgb[box.y0 : box.y1, box.x0 : box.x1, 0] > 128
        columns = np.flatnonzero(ink.any(axis=0))
        right_half = ink[:, columns[len(columns) // 2] : columns[-1] + 1]
        # Two Chinese characters fill their square far more than two question marks do.
        assert right_half.mean() > 0.15


def luminance(rgb: np.ndarray) -> np.ndarray:
    linear = np.where(rgb <= 10.3, rgb / 255 / 12.92, ((rgb / 255 + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def busy(width: int, height: int) -> RGB8:
    return np.random.default_rng(5).integers(0, 256, (height, width, 3), dtype=np.uint8)


def stripes(width: int, height: int) -> RGB8:
    rgb = flat(width, height, 255)
    rgb[::3] = 0
    return rgb


@pytest.mark.parametrize(
    "picture",
    [lambda w, h: flat(w, h, 0), lambda w, h: flat(w, h, 255), busy, stripes],
    ids=["black", "white", "busy", "stripes"],
)
def test_text_stands_out_from_its_plate_on_any_ground(picture: Callable[[int, int], RGB8]) -> None:
    ground = ArrayFrame(flat(640, 360, 0))
    box = LabelPainter().paint(ground)
    ink = ground.read(box)[:, :, 0] > 240
    plate = ground.read(box)[:, :, 0] == 0
    frame = ArrayFrame(picture(640, 360))
    LabelPainter().paint(frame)
    inside = frame.read(box).astype(float)
    rounded = plate[8:-8, 8:-8]
    contrast = (luminance(inside[ink]).mean() + 0.05) / (luminance(inside[8:-8, 8:-8][rounded]).max() + 0.05)
    assert contrast >= 4.5


def test_only_the_box_changes() -> None:
    rgb = busy(641, 361)
    frame = ArrayFrame(rgb.copy())
    box = LabelPainter().paint(frame)
    outside = np.ones(rgb.shape[:2], bool)
    outside[box.y0 : box.y1, box.x0 : box.x1] = False
    assert np.array_equal(frame.rgb[outside], rgb[outside])
    assert box.x0 % 2 == box.y0 % 2 == box.width % 2 == box.height % 2 == 0


def test_the_corner_avoids_faces() -> None:
    face = face_at(400, 200, 600, 355)
    box = LabelPainter().paint(ArrayFrame(flat(640, 360, 90)), [face])
    assert box.intersect(Box(400, 200, 600, 355)).area == 0


def test_a_wide_label_breaks_into_two_lines_when_that_frees_the_face() -> None:
    placed = place_label(400, 400, [face_at(10, 20, 210, 380)])
    assert placed.art.width < 0.6 * 400
    assert placed.box.intersect(Box(10, 20, 170, 380)).area == 0


def test_hair_is_hidden_rather_than_a_chin() -> None:
    placed = place_label(640, 480, [face_at(190, 110, 480, 440)])
    assert placed.corner.startswith("top")


def test_the_corner_is_fixed_within_a_scene_and_moves_only_for_a_face_at_a_cut() -> None:
    painter = LabelPainter()
    calm, crossing = [face_at(100, 50, 200, 150)], [face_at(420, 220, 620, 355)]
    first = painter.paint(ArrayFrame(flat(640, 360, 90)), calm, scene=0)
    assert painter.paint(ArrayFrame(flat(640, 360, 90)), crossing, scene=0) == first
    moved = painter.paint(ArrayFrame(flat(640, 360, 90)), crossing, scene=1)
    assert moved != first
    assert painter.paint(ArrayFrame(flat(640, 360, 90)), calm, scene=2) == moved


def test_a_batch_shows_where_faces_will_be() -> None:
    works = [
        FrameWork(ArrayFrame(flat(640, 360, 90), index=i), [face_at(100 + 10 * i, 200, 300 + 10 * i, 350)], scene=0)
        for i in range(32)
    ]
    boxes = LabelPainter().paint_batch(works)
    assert len(set(boxes)) == 1
    assert all(boxes[0].intersect(Box.around(work.faces[0].points)).area == 0 for work in works)


def test_a_chosen_corner_is_kept_whatever_is_there() -> None:
    box = LabelPainter(position="top-left").paint(ArrayFrame(flat(640, 360, 90)), [face_at(0, 0, 300, 300)])
    assert box.x0 < 20
    assert box.y0 < 20


@pytest.mark.parametrize("size", [(1, 1), (2, 500), (16, 16), (32, 32), (3000, 12)])
def test_a_picture_too_small_for_the_label_gets_the_best_that_fits(size: tuple[int, int]) -> None:
    painter = LabelPainter()
    box = painter.paint(ArrayFrame(flat(*size, 128)))
    assert painter.placement is not None
    assert not painter.placement.fits
    assert box == box.clip(*size)
    assert box.area > 0


@pytest.mark.parametrize("size", [(64, 64), (96, 96), (6000, 64)])
def test_thumbnails_still_get_a_legible_label(size: tuple[int, int]) -> None:
    painter = LabelPainter()
    painter.paint(ArrayFrame(flat(*size, 128)))
    assert painter.placement is not None
    assert painter.placement.art.glyph_px >= 9


def test_letters_in_hdr_are_no_brighter_than_the_frame_says() -> None:
    class HdrFrame(ArrayFrame):
        graphics_white = 231

    frame, plain = HdrFrame(flat(640, 360, 0)), ArrayFrame(flat(640, 360, 0))
    LabelPainter().paint(frame)
    LabelPainter().paint(plain)
    assert (frame.rgb.max(), plain.rgb.max()) == (226, 250)
