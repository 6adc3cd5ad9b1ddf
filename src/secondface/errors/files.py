"""Files that are not what they claim to be, or that cannot be taken."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class BadMedia(SecondfaceError):
    """A media file cannot be used.

    Check that the file plays in an ordinary player, or export it again as MP4, JPEG or PNG.
    """

    code = "bad_media"
    fault = "caller"


class FileUnreadable(BadMedia):
    """A file cannot be read.

    Check the path and its permissions.
    """

    code = "file_unreadable"


class MediaUnsupported(BadMedia):
    """This kind of file is not supported.

    Pictures: JPEG, PNG, WebP, AVIF, HEIC, TIFF, GIF, BMP. Video: MP4, MOV, MKV, WebM and most that FFmpeg decodes.
    """

    code = "media_unsupported"


class MediaCorrupt(BadMedia):
    """The file is damaged or is not what its header says.

    Export it again from the program that made it.
    """

    code = "media_corrupt"


class MediaTooLarge(BadMedia):
    """The picture or video is larger than the limit.

    Make it smaller, or raise the limit in the settings (`secondface config show`).
    API: Make it smaller, or ask the operator of the service for a higher limit.
    """

    code = "media_too_large"


class MalwareFound(BadMedia):
    """The file holds malware, so it was not taken.

    Nothing of it was kept. If you trust the file, export it again from the program that made it and send that copy.
    """

    code = "malware_found"


class MediaEmpty(BadMedia):
    """The file holds no picture and no video frame.

    Check that the right file was given.
    """

    code = "media_empty"
