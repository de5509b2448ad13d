"""A report as its reader meets it: every panel, every search box, keys, paper, and no network."""

import json
import re

import pytest

NAMES = ("texts", "tree", "hostile", "votes", "genotypes", "mutations")
BAD = ("error", "warning")
EVERY = {
    "overview", "components", "map", "correlations", "tree", "blocs", "profiles", "bars",
    "documents", "choice", "chains",
}  # fmt: skip


@pytest.fixture
def visit(browser, reports):
    """Open a report; what goes wrong meanwhile, or is asked of a network, is kept."""
    contexts = []

    def go(name, place="", **options):
        context = browser.new_context(viewport={"width": 1100, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.wrong, page.asked = [], []
        page.on("console", lambda said: page.wrong.append(said.text) if said.type in BAD else None)
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("dialog", lambda box: page.wrong.append(box.message))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{reports[name].as_uri()}{place}")
        return page

    yield go
    for context in contexts:
        for page in context.pages:
            assert page.wrong == []
            assert [url for url in page.asked if not url.startswith(("file:", "blob:"))] == []
        context.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_draws_and_every_box_takes_text(visit, name):
    page = visit(name)
    tabs = page.get_by_role("tab").all()
    for tab in tabs:
        tab.click()
        panel = page.get_by_role("tabpanel")  # one is shown
        assert panel.count() == 1
        assert panel.inner_text().strip()
        for box in panel.locator('input[type="search"]').all():
            box.fill("no such thing <b>")
            box.fill("a")
            box.fill("")
        for choice in panel.locator("select").all():
            for value in choice.evaluate("c => [...c.options].map((o) => o.value)"):
                choice.select_option(value)
        for part in panel.locator("details").all():
            part.evaluate("d => { d.open = true; }")
    assert page.evaluate("window.hacked") is None
    assert len(page.pdf()) > 10_000  # on paper all panels are drawn
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_together_they_have_every_panel(reports):
    pages = (path.read_text(encoding="utf-8") for path in reports.values())
    assert {key for page in pages for key in re.findall(r'id="panel-(\w+)"', page)} == EVERY


def test_keys_go_through_tabs_and_the_map(visit):
    page = visit("tree")
    page.get_by_role("tab", name="Overview").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-components"
    page.keyboard.press("End")
    assert page.get_by_role("tabpanel").get_attribute("id") == "panel-chains"
    page.get_by_role("tab", name="Map").click()
    page.locator('.dot[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    second = page.evaluate("document.activeElement.getAttribute('data-k')")
    assert page.locator("#panel-map .card h3").inner_text().startswith(f"#{second}")


def test_the_slider_ranks_as_the_library_does(visit):
    from support.report_pages import animals

    fit = animals()[1]
    page = visit("texts", "#components/1")
    for weight in (0.0, 0.5, 1.0):
        page.locator("#lambda").fill(str(weight))
        shown = page.locator("#component-detail tbody th").all_inner_texts()
        wanted = fit.top_features(7, by="relevance", weight=weight)
        value = dict(zip(wanted[1], wanted.values[1], strict=True))
        in_order = sorted(value.values(), reverse=True)
        assert [value[name] for name in shown] == pytest.approx(in_order, abs=1e-5)


def test_names_are_kept_saved_and_taken(visit, tmp_path):
    page = visit("texts", "#components/1")
    page.get_by_label("Name of component 1").fill("<b>dogs</b>")
    page.keyboard.press("Tab")
    assert page.locator('#component-list [data-k="1"] .line bdi').inner_text() == "#1 <b>dogs</b>"
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save names").click()
    record = json.loads(waiting.value.path().read_text())
    assert record["names"] == {"1": "<b>dogs</b>"}
    page.reload()
    assert page.get_by_label("Name of component 1").input_value() == "<b>dogs</b>"
    (tmp_path / "names.json").write_text(json.dumps({"names": {"0": "cats", "99": "none", "x": 3}}))
    page.get_by_label("File of names").set_input_files(tmp_path / "names.json")
    page.locator('#component-list [data-k="0"]').get_by_text("#0 cats").wait_for()
    page.get_by_role("tab", name="Documents").click()
    assert "#0 cats" in page.locator("#panel-documents tbody").inner_text()


def test_a_typical_document_is_opened_and_read(visit):
    page = visit("texts", "#components/0")
    assert page.locator(".snippet mark").count() > 0
    first = page.locator(".docs button").first
    name = first.inner_text()
    first.click()
    assert page.locator("#reader h3").inner_text() == name
    assert page.locator("#reader .body .w").count() > 2
    page.get_by_label("Search documents").fill("t3")
    assert page.locator("#panel-documents tbody tr.row").count() == 1
    page.go_back()
    assert page.get_by_role("tabpanel").get_attribute("id") == "panel-components"


@pytest.mark.parametrize("name", ["texts", "votes", "genotypes"])
def test_on_a_phone_nothing_is_squeezed_away(visit, name):
    page = visit(name)
    page.set_viewport_size({"width": 360, "height": 700})
    page.reload()
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.goto(page.url.partition("#")[0] + "#documents")
    for head in page.locator("#panel-documents thead th").all():
        assert head.bounding_box()["width"] > 60
    sizes = "e => e.getBoundingClientRect().width / e.viewBox.baseVal.width"
    page.get_by_role("tab", name="Convergence").click()
    assert page.locator("#panel-chains figure svg, #panel-chains svg").first.evaluate(sizes) > 0.9


def test_columns_sort_both_ways(visit):
    page = visit("texts", "#documents")
    rows = page.locator("#panel-documents tbody tr.row")
    button = page.locator("#panel-documents thead button", has_text="year")
    button.click()
    assert "1990" in rows.first.inner_text()
    button.click()
    assert "2015" in rows.first.inner_text()
    assert page.locator('#panel-documents th[aria-sort="descending"]').count() == 1


def test_a_browser_that_keeps_nothing_is_no_error(visit):
    page = visit("texts")
    refuse = "{ get() { throw new Error('no'); } }"
    page.add_init_script(f"Object.defineProperty(window, 'localStorage', {refuse})")
    page.reload()
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_without_a_script_there_is_the_overview_and_the_table(visit):
    page = visit("texts", java_script_enabled=False)
    assert page.get_by_text("converged").first.is_visible()
    assert page.locator("#components-table tbody tr").count() == 2
    assert page.locator("#components-table tbody tr").first.is_visible()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("texts", "light"),
        ("texts", "dark"),
        ("votes", "light"),
        ("votes", "dark"),
        ("tree", "dark"),
        ("genotypes", "light"),
        ("mutations", "dark"),
    ],
)
def test_axe_finds_nothing_serious(visit, name, scheme):
    pytest.importorskip("axe_playwright_python", reason="accessibility needs axe-playwright-python")
    from axe_playwright_python.sync_playwright import Axe

    page = visit(name, color_scheme=scheme, bypass_csp=True)
    for tab in page.get_by_role("tab").all():
        tab.click()
        found = Axe().run(page).response["violations"]
        serious = [
            (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0].get("failureSummary"))
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]
        assert serious == [], tab.inner_text()
