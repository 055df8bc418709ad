"""The pages over a made-up night in a real browser: nothing is cut, no label lies on another, and
words of the trade say what they mean."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.browser import CHROMIUM, Browser
from tests.e2e.pictures import NARROW, WIDE, made_up_night, pages, shown

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium"),
]
REPORTS = 12
CUT = """[...document.querySelectorAll('main, .wide, .card, table')]
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => `${e.className || e.tagName}: ${e.scrollWidth} > ${e.clientWidth}`)"""
OVERLAPPING = """(() => {
    const found = [];
    for (const svg of document.querySelectorAll('svg.timeline')) {
        const all = [...svg.querySelectorAll('text')].map(e => [e.textContent, e.getBBox()]);
        const width = svg.viewBox.baseVal.width;
        all.forEach(([a, one], place) => {
            if (one.x < -1 || one.x + one.width > width + 1) found.push(`${a} is cut`);
            for (const [b, other] of all.slice(place + 1)) {
                const wide = Math.min(one.x + one.width, other.x + other.width)
                    - Math.max(one.x, other.x);
                const high = Math.min(one.y + one.height, other.y + other.height)
                    - Math.max(one.y, other.y);
                if (wide > 2 && high > 4) found.push(`${a} on ${b}`);
            }
        });
    }
    return found;
})()"""


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Browser]]:
    with (
        pytest.MonkeyPatch.context() as patched,
        made_up_night(tmp_path_factory.mktemp("night"), REPORTS, 3) as url,
    ):
        patched.setenv("FORERUN_CPU_HOUR_COST", "0.05 EUR")
        browser = Browser()
        yield url, browser
        browser.end()


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=str)
def test_nothing_is_cut_and_no_label_lies_on_another(night, size):
    url, browser = night
    browser.size(*size)
    wrong = {}
    for name, path in pages(REPORTS).items():
        shown(browser, url + path)
        if found := [*browser.evaluate(CUT), *browser.evaluate(OVERLAPPING)]:
            wrong[name] = found
    assert wrong == {}
    assert browser.complaints == []


def test_words_of_the_trade_say_what_they_mean_and_money_is_shown(night):
    url, browser = night
    for path in ("/", pages()["day-page"], "/savings"):
        shown(browser, url + path)
        words = browser.evaluate(
            "[...document.querySelectorAll('abbr')].map(e => [e.textContent, e.title.length])"
        )
        assert words, path
        assert all(length > 20 for _, length in words), words
    assert "EUR in place of" in browser.evaluate("document.body.innerText")
