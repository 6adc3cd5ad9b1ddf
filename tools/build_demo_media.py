"""Makes the pictures and the clip that `secondface demo` runs on, from the synthetic people of ../shared/media (MIT).

    python tools/build_demo_media.py ../shared/media

The results are committed, so this runs only when the sample is to change.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
from av.audio import AudioStream
from av.video import VideoStream
from av.video.frame import PictureType
from PIL import Image

FOLDER = Path(__file__).parent.parent / "src" / "secondface" / "cli" / "sample"
PEOPLE = {
    "person_a.jpg": "synth_P002_woman_light_curly_front.jpg",
    "person_b.jpg": "synth_P010_woman_bun_light_front.jpg",
}
CLIP = "synth_talk_P006_360p25.mp4"
FRAMES = 60
PORTRAIT_PX = 768


def build_people(media: Path) -> None:
    for name, source in PEOPLE.items():
        with Image.open(media / "portraits" / source) as picture:
            small = picture.convert("RGB").resize((PORTRAIT_PX, PORTRAIT_PX), Image.Resampling.LANCZOS)
            small.save(FOLDER / name, quality=90)


def build_clip(media: Path) -> None:
    with av.open(str(media / "videos" / CLIP)) as source, av.open(str(FOLDER / "clip.mp4"), "w") as made:
        picture, sound = source.streams.video[0], source.streams.audio[0]
        video = cast("VideoStream", made.add_stream("libx264", rate=25))
        video.width, video.height, video.pix_fmt = picture.width, picture.height, "yuv420p"
        video.options = {"crf": "20", "preset": "slow"}
        audio = cast("AudioStream", made.add_stream_from_template(sound))
        end = Fraction(FRAMES, 25)
        for packet in source.demux(picture, sound):
            if packet.stream is sound:
                if packet.pts is not None and packet.time_base and packet.pts * packet.time_base < end:
                    packet.stream = audio
                    made.mux(packet)
                continue
            for frame in packet.decode():
                if isinstance(frame, av.VideoFrame) and frame.time is not None and frame.time < float(end) - 1e-6:
                    frame.pict_type = PictureType.NONE
                    made.mux(video.encode(frame))
        made.mux(video.encode(None))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    build_people(Path(sys.argv[1]))
    build_clip(Path(sys.argv[1]))
