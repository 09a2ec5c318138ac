"""The report in a real browser: it opens offline, runs nothing foreign, links its panes, and reads without script.

It runs where Playwright can be imported and a Chromium is installed, and is skipped elsewhere. Playwright may lie in a
folder of its own: `pip install --target ORACLES playwright`, then `PYTHONPATH=ORACLES pytest` with this file.
"""

import shutil

import profiled_graphs as graphs
import pytest
import records_for_tests as made
from recorded_runs import run_and_record

from compiler.options import CompileOptions
from profiler.records import CompiledKernel, Decision, Launch, MeasureRequest, StageRecord
from profiler.report.write import export_run
from profiler.store import open_store, writer

pytestmark = pytest.mark.oracle
EVIL = "<script>alert(1)</script>"
IN_VIEW = """pane => { const code = pane.querySelector('.code'), hit = pane.querySelector('.line.hit');
    if (!hit) return false;
    const a = code.getBoundingClientRect(), b = hit.getBoundingClientRect();
    return b.top >= a.top - 1 && b.bottom <= a.bottom + 1; }"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Two real runs as one report, and one whose every name is hostile."""
    folder = tmp_path_factory.mktemp("reports")
    with open_store(folder / "t.db") as store:
        arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
        for level in (1, 3):
            request = MeasureRequest("two", repeat=24, options=CompileOptions(debug="line-tables", opt_level=level))
            run_and_record(store, request, graphs.two_kernels(), arrays, texts=True)
        (folder / "real.html").write_text(export_run(store, 2, "html", [1]), encoding="utf-8")
        kernel = CompiledKernel(EVIL, "key", (EVIL,), ("mo.add",), f"# {EVIL}\n")
        ledger = (Decision(EVIL, EVIL, True, EVIL, EVIL, EVIL),)
        record = made.compilation(source=EVIL, kernels=(kernel,), decisions=ledger)
        number = writer.add_compilation(store, record, made.MACHINE)
        writer.add_stages(store, number, [StageRecord("asm", EVIL, f"; {EVIL} </pre> <!-- </SCRIPT >\n", ((EVIL,),))])
        run = writer.begin_run(store, made.request(EVIL), made.MACHINE)
        launch = Launch(0, EVIL, "key", (EVIL, '"onload="alert(1)'), (100, 110, 120) * 2, (1e-6,))
        writer.finish_run(store, run, made.result(launches=(launch,)), number)
        writer.note_run(store, run, f'{EVIL}"><img src=x onerror=alert(1)>')
        (folder / "evil.html").write_text(export_run(store, run, "html"), encoding="utf-8")
    return folder


@pytest.fixture
def opened(browser, reports):
    """Opens a report offline and watches what it does: every console line, error, dialog and request is a complaint."""
    complaints, contexts = [], []

    def open_report(name, **options):
        context = browser.new_context(offline=True, **{"viewport": {"width": 1280, "height": 720}} | options)
        contexts.append(context)
        page = context.new_page()
        address = (reports / name).as_uri()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
        page.on("request", lambda request: complaints.append(request.url) if request.url != address else None)
        page.goto(address)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height", [(1280, 720), (1920, 1080), (600, 800)])
def test_it_opens_offline_and_fits_the_window(opened, scheme, width, height):
    page = opened("real.html", color_scheme=scheme, viewport={"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground[4:-1].split(","))) < 200) == (scheme == "dark")
    assert page.locator("svg.plot").count() >= 8 and page.locator(".pane").count() == 4


def test_every_section_is_there_and_named_in_the_navigation(opened):
    page = opened("real.html")
    titles = page.locator("h2").all_inner_texts()
    wanted = ("Time of a call", "What differs", "Kernels", "Timeline of one call", "Roofline", "Memory over time",
              "Funnel by stage", "Compile passes", "Fusion ledger", "IR, from graph to machine",
              "Options and machine")  # fmt: skip
    assert all(title in titles for title in wanted)
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_a_line_lights_up_what_comes_from_its_nodes_everywhere(opened):
    page = opened("real.html")
    panes = page.locator(".pane")
    panes.nth(0).locator(".line", has_text="mo.matmul").first.click()
    for number in range(panes.count()):
        assert panes.nth(number).evaluate(IN_VIEW), f"pane {number} does not show its lines"
    kernels = {panes.nth(number).locator("select option:checked").inner_text().split(" · ")[-1] for number in (1, 2, 3)}
    assert len(kernels) == 1 and "matmul" in kernels.pop()
    assert page.locator("#kernels tr.hit").count() == 1 and page.locator(".plot .hit").count() > 0
    page.keyboard.press("Escape")
    assert page.locator(".hit").count() == 0


def test_a_row_of_a_table_and_a_mark_of_a_plot_link_too_and_a_locked_pane_stays(opened):
    page = opened("real.html")
    page.locator(".pane button").nth(2).click()
    before = page.locator(".pane select").nth(2).input_value()
    for row in page.locator("#kernels tbody tr").all():
        row.click()
        assert page.locator(".pane").nth(3).evaluate(IN_VIEW)
        assert page.locator(".pane select").nth(2).input_value() == before
    page.locator("#timeline [data-nodes]").first.click(force=True)
    assert page.locator("#kernels tr.hit").count() >= 1


def test_it_can_be_used_from_the_keyboard(opened):
    page = opened("real.html")
    page.locator(".code").nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".pane").nth(0).locator(".cursor.hit").count() == 1
    page.keyboard.press("Escape")
    page.locator("#kernels tbody tr").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#kernels tbody tr.hit").count() >= 1
    page.locator("#ledger-filter").fill("epilogue")
    assert {row.locator("td").nth(3).inner_text() for row in page.locator("#ledger tbody tr:visible").all()} == {
        "epilogue"
    }


def test_without_script_all_of_it_can_be_read(opened):
    page = opened("real.html", java_script_enabled=False)
    assert page.locator("svg.plot").count() >= 8 and page.locator("#ledger tbody tr").count() > 0
    first = page.locator("#texts details").first
    assert first.is_visible() and not page.locator(".filter").is_visible()
    first.locator("summary").click()
    assert "mo.graph" in first.locator("pre").inner_text()


def test_hostile_names_are_shown_and_never_run(opened):
    page = opened("evil.html")
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("#kernels tbody th").first.inner_text() == EVIL
    assert f"; {EVIL} </pre> <!-- </SCRIPT >" in (page.locator(".pane .line").last.text_content() or "")
    assert page.locator("img").count() == 0 and page.locator("script").count() == 2
    page.locator("#kernels tbody tr").first.click()


def test_printing_leaves_out_what_paper_cannot_do(opened, tmp_path):
    page = opened("real.html", color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#panes").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000
