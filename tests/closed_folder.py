"""A folder that whoever runs the tests may not write into, root too."""

from __future__ import annotations

import os
from pathlib import Path


def closed_folder(parent: Path) -> Path:
    """Below `parent`; for root, who may write there whatever its mode says, the kernel's own file system."""
    if os.geteuid() == 0:
        return Path("/sys")
    (parent / "closed").mkdir(mode=0o500)
    return parent / "closed"
