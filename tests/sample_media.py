"""Where the sample media lie, and the one mark for tests that cannot do without them."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[1] / ".." / "shared"
MEDIA = SHARED / "media"
PORTRAITS = MEDIA / "portraits"
NO_MEDIA = "the sample media are not beside this checkout: ../shared"
needs_media = pytest.mark.skipif(not MEDIA.is_dir(), reason=NO_MEDIA)
