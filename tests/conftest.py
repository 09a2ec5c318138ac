"""What every test gets: caches and databases of its own, never the user's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("kernelglass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_CACHE", str(folder / "cache"))
        patch.setenv("KERNELGLASS_DB", str(folder / "traces.db"))
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))  # where the key of the cache is kept
        yield
