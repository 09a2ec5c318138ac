"""The command line as the tests call it."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _turns(tmp_path_factory):
    """Turns of this test process: workers of another one beside it are not waited for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_TURNS", str(tmp_path_factory.mktemp("turns")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _sweeps():
    """Cells of sweeps that are begun in this process are compiled by processes that one of them loaded all for."""
    if sys.platform != "linux":
        yield
        return
    from sweep_worker import LastingNursery

    nurseries = {False: LastingNursery(), True: LastingNursery("app.sweep.packing")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.cli.commands.sweep.sweep_nursery", lambda spread=False: nurseries[spread])
        yield
    for nursery in nurseries.values():
        nursery.close_at_last()


@pytest.fixture(autouse=True)
def _quickly_measured(measured_in_forks):
    """How long runs take is not what these tests are about."""


@pytest.fixture
def kernelglass(capfd, tmp_path, monkeypatch):
    """Run the command line here, with a database of its own, and give (status, stdout, stderr).

    The cache is the one of the whole test run: what is compiled for one test is there for the next. Tests that are
    about a cold one take `cold_cache` as well.
    """
    from app.cli.main import main

    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "traces.db"))

    def run(*arguments):
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return status, out, err

    return run


@pytest.fixture(scope="session")
def runs_at(tmp_path_factory):
    """`runs_at(place, times, source, *options)`: a database with runs of a source, made once and copied for each test
    that changes it. The source is named, or given as a file's text."""
    from app.cli.main import main

    made = {}

    def copied(place, times, source, *options):
        asked = times, source, *options
        if asked not in made:
            folder = tmp_path_factory.mktemp("runs")
            named = source if source.startswith("sample:") else str(folder / "source.py")
            if named != source:
                Path(named).write_text(source)
            made[asked] = folder / "traces.db"
            for _ in range(times):
                assert main(["run", named, *options, "--processes", "1", "--db", str(made[asked])]) == 0
        assert not list(made[asked].parent.glob("*-wal")), "all of it is in the one file"
        return shutil.copy(made[asked], place)

    return copied


@pytest.fixture
def cold_cache(tmp_path, monkeypatch):
    """An empty cache for one test."""
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
