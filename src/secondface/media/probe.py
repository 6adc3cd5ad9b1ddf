"""What a file is, found out before any work is done on it.

Decides still or video and hands over to the reader of that kind; must not keep anything open.
"""

from __future__ import annotations

import os
from pathlib import Path

from secondface.media.images import still_info
from secondface.media.info import MediaInfo
from secondface.media.limits import Limits
from secondface.media.read import VideoReader
from secondface.media.signatures import sniff


def probe(path: str | os.PathLike[str], limits: Limits | None = None) -> MediaInfo:
    """What `path` holds; a video's first frame is decoded, a still is not.

    Raises FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge or MediaEmpty.
    """
    if sniff(Path(path)).kind == "still":
        return still_info(path, limits)
    with VideoReader(path, limits) as reader:
        return reader.info
