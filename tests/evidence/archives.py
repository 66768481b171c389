"""Archives of session folders, unpacked as they are by every Python."""

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, target: Path) -> None:
    """Unpack an archive of our own; Python has filters from 3.11.4 on, and asks for one from 3.12 on."""
    if hasattr(tarfile, "fully_trusted_filter"):
        archive.extraction_filter = tarfile.fully_trusted_filter
    archive.extractall(target)
