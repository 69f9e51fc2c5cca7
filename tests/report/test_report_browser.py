"""The page of a report in headless Chromium: sorting, filtering, keyboard, dark, phone, print.

The tests need Debian's packages chromium and chromium-driver; without them they are skipped.
"""

import base64

import pytest
from browsing import (
    WAIT_S,
    addresses_asked,
    axe_findings,
    draw_all,
    needs_browser,
    new_browser,
    open_page,
)
from hostile_names import HEBREW, NAMES, hostile_labels

import manyhands as mh
from manyhands.report import (
    ranking_content,
    report_content,
    write_ranking_report,
    write_report,
)
from manyhands.simulation import SCENARIOS, PlantedSettings
from rated_crowds import rated
from set_crowds import simulate_sets
from simulated_pairs import simulate_pairs

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def browser():
    driver = new_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def crowd():
    return SCENARIOS["planted"](PlantedSettings(n_annotators=40, n_items=600, share=0.4, seed=5))


@pytest.fixture(scope="module")
def address(crowd, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    consensus = mh.aggregate(crowd.annotations)
    write_report(report_content(consensus, truth=crowd.truth_by_item), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def hostile_address(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    write_report(report_content(mh.aggregate(hostile_labels()), title=NAMES[0]), path)
    return path.as_uri()


@pytest.fixture(scope="module")
def pages(address, hostile_address, tmp_path_factory):
    """The addresses of pages of classes, hostile names, numbers, sets and comparisons."""
    home = tmp_path_factory.mktemp("pages")
    labels = {"numbers": rated(labels=4).annotations, "sets": simulate_sets(0).annotations}
    for name, ann in labels.items():
        write_report(report_content(mh.aggregate(ann)), home / f"{name}.html")
    ranking = mh.aggregate(simulate_pairs(1, tie=-0.5)[0])
    write_ranking_report(ranking_content(ranking), home / "ranking.html")
    return [address, hostile_address, *(path.as_uri() for path in sorted(home.iterdir()))]


@pytest.fixture
def page(browser, address):
    open_page(browser, address)
    draw_all(browser)  # a chart that is drawn later moves what a test points at
    return browser


def names_shown(browser):
    script = (
        "return [...document.querySelectorAll('#annotator-table tbody tr')]"
        ".filter(row => !row.hidden).map(row => row.cells[0].textContent.trim())"
    )
    return browser.execute_script(script)


def heading(browser, text):
    for button in browser.find_elements(By.CSS_SELECTOR, "#annotator-table thead button"):
        if button.text == text:
            return button
    raise AssertionError(text)


def test_tables_sort_by_mouse_and_by_keyboard(page, crowd):
    heading(page, "Labels").click()
    counts = crowd.annotations.labels_per_annotator
    shown = [counts[int(name)] for name in names_shown(page)]
    assert shown == sorted(counts.tolist())
    heading(page, "Labels").send_keys(Keys.ENTER)
    shown = [counts[int(name)] for name in names_shown(page)]
    assert shown == sorted(counts.tolist(), reverse=True)
    cell = heading(page, "Labels").find_element(By.XPATH, "..")
    assert cell.get_attribute("aria-sort") == "descending"


def test_the_table_filters_by_flag_and_name(page, crowd):
    Select(page.find_element(By.ID, "filter-flag")).select_by_value("constant")
    planted = [str(a) for a in range(40) if crowd.behaviour[a] == "constant"]
    assert sorted(names_shown(page)) == sorted(planted)
    assert page.find_element(By.ID, "filter-count").text == "4 of 40 annotators"
    Select(page.find_element(By.ID, "filter-flag")).select_by_value("")
    page.find_element(By.ID, "filter-name").send_keys("39")
    assert names_shown(page) == ["39"]


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_confusions_of_an_annotator_by_pointer_and_by_focus(page, crowd, way):
    button = page.find_elements(By.CSS_SELECTOR, ".who")[5]
    name = button.text
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    if way == "hover":
        webdriver.ActionChains(page).move_to_element(button).perform()
    else:
        page.execute_script("arguments[0].focus()", button)
    panel = page.find_element(By.ID, "confusion-panel")
    assert panel.find_element(By.TAG_NAME, "h3").text == name
    cells = [int(cell.text or 0) for cell in panel.find_elements(By.CSS_SELECTOR, ".heat td")]
    assert sum(cells) == crowd.annotations.labels_per_annotator[int(name)]
    shared = panel.find_elements(By.CSS_SELECTOR, ".own-agreement td:nth-child(2)")
    said = [int(cell.get_attribute("textContent")) for cell in shared]
    assert 0 < sum(said) <= sum(cells)


def test_charts_are_drawn_and_say_their_numbers_on_hover(page):
    assert len(draw_all(page)) == 5
    bar = page.find_elements(By.CSS_SELECTOR, "[data-chart=confidence] .mark-rect path")[-1]
    webdriver.ActionChains(page).move_to_element(bar).perform()
    tip = WebDriverWait(page, WAIT_S).until(
        lambda driver: driver.find_element(By.ID, "vg-tooltip-element")
    )
    assert "items" in tip.text


def test_no_request_leaves_the_machine_and_nothing_goes_wrong(browser, hostile_address):
    open_page(browser, hostile_address)
    draw_all(browser)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    asked = addresses_asked(browser)
    assert asked
    assert all(url.startswith(("file:", "data:")) for url in asked)


def test_hostile_names_are_shown_as_text(browser, hostile_address):
    open_page(browser, hostile_address)
    draw_all(browser)
    assert browser.title == NAMES[0]  # the title of the page, as it was given
    for button in browser.find_elements(By.CSS_SELECTOR, ".who"):
        browser.execute_script("arguments[0].focus()", button)
    assert browser.title == NAMES[0]
    assert len(browser.find_elements(By.TAG_NAME, "h1")) == 1
    assert browser.find_elements(By.CSS_SELECTOR, "img, main script") == []
    assert {*NAMES[:4], HEBREW} <= set(names_shown(browser))


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_as_wide_as_the_window(browser, hostile_address, address, width):
    for each in (address, hostile_address):
        open_page(browser, each, width=width)
        draw_all(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_on_a_phone_rows_are_blocks_that_say_which_column_a_cell_is_of(browser, address):
    open_page(browser, address, width=390, height=844)
    table = browser.find_element(By.CSS_SELECTOR, "#summary table.actions")
    inside = "return arguments[0].scrollWidth <= arguments[0].parentElement.clientWidth"
    assert browser.execute_script(inside, table)
    row = table.find_element(By.CSS_SELECTOR, "tbody tr")
    shown = browser.execute_script(
        "return [...arguments[0].cells].map(cell => [cell.getAttribute('role'), "
        "getComputedStyle(cell, '::before').content, cell.offsetLeft])", row
    )  # fmt: skip
    assert [role for role, _, _ in shown] == ["rowheader", *["cell"] * 4]
    assert shown[4][1].startswith(('"Number of labels', "attr(data-column)"))
    assert len({left for _, _, left in shown}) == 1
    heading(browser, "Labels").click()  # it still sorts
    assert table.get_attribute("role") == "table"
    Select(browser.find_element(By.ID, "filter-flag")).select_by_value("constant")
    hidden = browser.find_elements(By.CSS_SELECTOR, "#annotator-table tbody tr[hidden]")
    assert hidden
    assert not any(row.is_displayed() for row in hidden)


def test_on_a_phone_no_table_is_cut_off_but_matrices(browser, address):
    open_page(browser, address, width=390, height=844)
    wide = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter(e => !e.querySelector('.heat') "
        "&& e.scrollWidth > e.clientWidth).map(e => e.outerHTML.slice(0, 120))"
    )
    assert wide == []
    assert browser.find_elements(By.CSS_SELECTOR, "#labels table.stack, #confusions table.stack")


def test_words_from_right_to_left_do_not_move_what_follows(browser, hostile_address):
    open_page(browser, hostile_address)
    places = browser.execute_script(
        "return [...document.querySelectorAll('#summary bdi bdi')].map(word => {"
        "const next = word.nextSibling; if (!next || !next.data.trim()) return null;"
        "const range = document.createRange(); range.setStart(next, 0); range.setEnd(next, 1);"
        "const [one, two] = [word.getClientRects()[0], range.getClientRects()[0]];"
        "return one && two && one.top === two.top ? two.left - one.right : null})"
    )
    known = [place for place in places if place is not None]
    assert known
    assert min(known) > -1


def test_dark_pages_are_dark_and_their_charts_too(browser, address):
    colours = {}
    for scheme in ("light", "dark"):
        open_page(browser, address, prefers_color_scheme=scheme)
        draw_all(browser)
        colours[scheme] = browser.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            "getComputedStyle(document.querySelector('[data-chart=confidence] text')).fill]"
        )
    assert colours["light"][0] == "rgb(255, 255, 255)"
    assert colours["dark"][0] == "rgb(20, 23, 26)"
    assert colours["light"][1] != colours["dark"][1]


def test_the_page_prints_with_all_its_parts(page):
    made = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    content = base64.b64decode(made["data"])
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") + content.count(b"/Type /Page ") > 2
    assert page.execute_script(
        "return [...document.querySelectorAll('details')].every(each => each.open)"
    )


def test_every_control_is_reached_by_the_tab_key_in_order(page):
    reached = []
    for _ in range(30):
        webdriver.ActionChains(page).send_keys(Keys.TAB).perform()
        reached.append(
            page.execute_script(
                "const e = document.activeElement; return e.id || e.className || e.textContent"
            )
        )
        if "who" in reached:
            break
    assert reached[0] == "skip"
    assert reached.index("filter-name") < reached.index("filter-flag") < reached.index("who")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing(browser, pages, scheme, width, request):
    """axe-core as npm installs it into node_modules; without it the test is skipped."""
    for each in pages:
        open_page(browser, each, width=width, prefers_color_scheme=scheme)
        draw_all(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert axe_findings(browser, request.config.rootpath) == [], each
