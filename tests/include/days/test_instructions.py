"""What a day was told: nothing is lost, nothing counts twice, and a new generation knows none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from forerun.include.days.instructions import Instruction, instruct, next_instruction, read_told
from forerun.include.state.layout import Generation
from forerun.include.stores.opening import open_store

AT = Generation("totals", "2026-03-01", "1")


def saying(kind, form, by="anna"):
    return Instruction(kind=kind, by=by, at="2026-03-01T03:00:00+00:00", form=form)


def test_instructions_are_read_in_the_order_in_which_they_were_given(tmp_path):
    store = open_store(str(tmp_path))
    assert read_told(store, AT).given == ()
    assert instruct(store, AT, saying("replan", "a"))
    told = read_told(store, AT)
    assert (told.batch, told.skips_early) == (None, None)
    assert instruct(store, AT, saying("skip-early", "b"))
    told = read_told(store, AT)
    assert told.batch is None
    assert told.skips_early == saying("skip-early", "b")
    assert instruct(store, AT, saying("batch", "c", by="ben"))
    told = read_told(store, AT)
    assert [one.kind for one in told.given] == ["replan", "skip-early", "batch"]
    assert told.batch == told.skips_early == saying("batch", "c", by="ben")
    assert read_told(store, Generation("totals", "2026-03-01", "2")).given == ()


def test_a_form_that_is_sent_twice_counts_once(tmp_path):
    store = open_store(str(tmp_path))
    assert instruct(store, AT, saying("batch", "a"))
    assert not instruct(store, AT, saying("batch", "a"))
    assert len(read_told(store, AT).given) == 1


def test_of_many_at_once_each_is_there(tmp_path):
    store = open_store(str(tmp_path))
    forms = [f"form-{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        given = list(pool.map(lambda form: instruct(store, AT, saying("replan", form)), forms))
    assert all(given)
    assert sorted(one.form for one in read_told(store, AT).given) == sorted(forms)


def test_who_waits_is_told_where_the_next_one_will_lie(tmp_path):
    store = open_store(str(tmp_path))
    for number, form in enumerate(("a", "b"), start=1):
        uri = next_instruction(store, AT, read_told(store, AT))
        key = f"reports/totals/2026-03-01/1/instructions/{number}.json"
        assert uri == f"{store.root}/{key}"
        assert store.find(key) is None
        instruct(store, AT, saying("skip-early", form))
        assert store.find(key) is not None
