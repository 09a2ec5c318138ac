"""`kernelglass runs import`: runs from several desks in one database, compared there."""

import sqlite3

from command_line import SCALE, assert_one_line, document


def test_runs_of_two_desks_are_compared_in_one_database(kernelglass, tmp_path):
    file = tmp_path / "scale.py"
    file.write_text(SCALE)
    for desk in ("one", "two"):
        timing = ("--repeat", 5, "--processes", 1, "--tag", desk)
        assert kernelglass("run", file, "--db", tmp_path / f"{desk}.db", *timing)[0] == 0
    with sqlite3.connect(tmp_path / "two.db") as theirs:  # as it would be written on another machine
        theirs.execute("UPDATE machines SET fingerprint = 'another', name = 'another desk'")
    theirs.close()
    files = (tmp_path / "one.db", tmp_path / "two.db")
    found = document(kernelglass("runs", "import", *files, "--json"))["imported"]
    assert [(len(each["runs"]), len(each["compilations"])) for each in found] == [(1, 1), (1, 1)]
    assert found[1]["machines"] == ["another desk"]
    status, out, err = kernelglass("compare", "one", "two")
    assert status == 0 and "unlike machines" in out + err
    status, out, _ = kernelglass("runs", "import", *files)
    assert status == 0 and out.count("0 runs and 0 compilations added; 1 runs were here already") == 2
    assert len(document(kernelglass("runs", "--json"))["runs"]) == 2


def test_a_file_that_is_no_database_is_one_line(kernelglass, tmp_path):
    (tmp_path / "text.db").write_text("hello")
    assert_one_line(kernelglass("runs", "import", tmp_path / "text.db"), 2, "text.db is not a database")
    assert_one_line(kernelglass("runs", "import", tmp_path / "none.db"), 2, "there is no database")
