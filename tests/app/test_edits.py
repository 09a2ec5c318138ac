"""Edited texts: what is an edit, and that none is lost between sessions."""

from __future__ import annotations

from app.viewmodels.text.edits import Buffer, Edits


def test_an_edit_comes_back_after_a_crash(tmp_path):
    first = Edits(tmp_path)
    first.open("sample:mlp")
    first.load("", "graph")
    first.load("kernel_a", "generated")
    first.change("", "graph, edited")
    first.change("kernel_a", "kernel, edited")
    assert first.keep()
    second = Edits(tmp_path)  # nothing told the first one that it was over
    second.open("sample:mlp")
    assert second.restored("")
    assert second.load("", "graph").text == "graph, edited"
    assert second.load("kernel_a", "generated").text == "kernel, edited"
    assert second.edited() == ["", "kernel_a"]
    assert second.get("kernel_a") == Buffer("generated", "kernel, edited")


def test_drafts_of_kernels_wait_until_their_kernel_is_there(tmp_path):
    edits = Edits(tmp_path)
    edits.open("a.py")
    edits.load("k", "one")
    edits.change("k", "two")
    edits.keep()
    again = Edits(tmp_path)
    again.open("a.py")
    again.load("", "graph")
    again.keep()  # before any compilation: the draft of the kernel must survive it
    third = Edits(tmp_path)
    third.open("a.py")
    assert third.load("k", "one").text == "two"


def test_reverting_saving_and_dropping_remove_the_draft(tmp_path):
    edits = Edits(tmp_path)
    for end in (lambda: edits.revert(""), lambda: edits.saved(""), edits.drop):
        edits.open("a.py")
        edits.load("", "one")
        edits.change("", "two")
        edits.keep()
        assert list(tmp_path.glob("*.json"))
        end()
        edits.keep()
        assert not list(tmp_path.glob("*.json"))
        assert not edits.edited()


def test_another_source_has_edits_of_its_own_and_rubbish_on_disk_is_no_edit(tmp_path):
    edits = Edits(tmp_path)
    edits.open("a.py")
    edits.load("", "one")
    edits.change("", "two")
    edits.keep()
    edits.open("b.py")
    assert edits.load("", "other").text == "other"
    for path in tmp_path.glob("*.json"):
        path.write_text("{not json")
    edits.open("a.py")
    assert edits.load("", "one").text == "one"


def test_a_disk_that_refuses_is_told(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    edits = Edits(blocked / "drafts")
    edits.open("a.py")
    edits.load("", "one")
    edits.change("", "two")
    assert not edits.keep()
