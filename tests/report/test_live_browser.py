"""The local page in headless Chromium: from a file to its report, by mouse and by keyboard."""

import csv

import pytest
from browsing import (
    WAIT_S,
    addresses_asked,
    axe_findings,
    draw_all,
    needs_browser,
    new_browser,
    open_page,
    show_as,
)
from hostile_names import SCRIPT, hostile_labels
from live_server import live_server

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.common import exceptions  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = [pytest.mark.slow, needs_browser]


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads):
    driver = new_browser(**{"download.default_directory": str(downloads)})
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live_server(tmp_path_factory.mktemp("home"), "--max-size", 5) as running:
        yield running


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table whose columns have to be chosen, with names that try to be obeyed; a large file."""
    folder, labels = tmp_path_factory.mktemp("tables"), hostile_labels()
    path = folder / "first round.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["photo", "who was asked", "first said", "then said"])
        for n in range(labels.n_annotations):
            who, what = labels.annotators[labels.annotator[n]], labels.classes[labels.label[n]]
            item = labels.items[labels.item[n]].replace("\x00", "")
            writer.writerow([item, who.replace("\x00", ""), what, "x"])
    (folder / "large.csv").write_bytes(b"x" * 5_000_001)
    return folder


def until(browser, condition):
    # The page changes meanwhile.
    ignored = (exceptions.NoSuchElementException, exceptions.StaleElementReferenceException)
    return WebDriverWait(browser, WAIT_S, ignored_exceptions=ignored).until(lambda _: condition())


def text_of(browser, selector):
    """The text of the first such element, as soon as there is one."""
    return until(browser, lambda: [browser.find_element(By.CSS_SELECTOR, selector).text])[0]


def at(browser, part):
    """Wait until the page with this part in its address is there, and nothing runs."""
    ended = (
        "return document.readyState === 'complete' && location.href.includes(arguments[0])"
        " && document.querySelector('h1') && !document.getElementById('progress')"
    )
    until(browser, lambda: browser.execute_script(ended, part))


def require_fine(browser, home):
    """Nothing for axe in light and dark, no page wider than a phone or a desk has, no error."""
    for scheme, width in (("light", 390), ("dark", 1280)):
        show_as(browser, width=width, prefers_color_scheme=scheme)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, browser.current_url
        assert axe_findings(browser, home) == [], browser.current_url
    assert [each["message"] for each in browser.get_log("browser")] == []


def test_from_a_file_to_its_report(browser, server, tables, downloads, request):
    home = request.config.rootpath
    open_page(browser, server.url)
    require_fine(browser, home)

    # A file that is too large is told at once; the next one is read.
    browser.find_element(By.ID, "file").send_keys(str(tables / "large.csv"))
    until(browser, lambda: "at most 5 are allowed" in text_of(browser, "#problem"))
    browser.find_element(By.ID, "file").send_keys(str(tables / "first round.csv"))
    at(browser, "/files/")
    assert "first round.csv: no column looks like" in text_of(browser, "#problem")
    require_fine(browser, home)

    # Columns are chosen.
    for role, column in (
        ("item", "photo"),
        ("annotator", "who was asked"),
        ("label", "first said"),
    ):
        Select(browser.find_element(By.NAME, role)).select_by_visible_text(column)
    browser.find_element(By.CSS_SELECTOR, ".fields button").click()
    until(browser, lambda: browser.find_elements(By.ID, "taken"))
    assert "annotators: who was asked, labels: first said" in text_of(browser, "#taken")
    require_fine(browser, home)

    # The method is chosen and run by keyboard alone.
    file = browser.current_url
    radio = browser.find_element(By.CSS_SELECTOR, "#run input:checked")
    browser.execute_script("arguments[0].focus()", radio)
    webdriver.ActionChains(browser).send_keys(Keys.ARROW_DOWN).perform()
    assert text_of(browser, "#run label:has(:checked) b") == "auto"
    webdriver.ActionChains(browser).send_keys(Keys.ARROW_UP, Keys.ENTER).perform()
    at(browser, "/results/")
    draw_all(browser)
    assert text_of(browser, "h1") == "Report on first round.csv"
    require_fine(browser, home)
    assert browser.title == "Report on first round.csv"  # no name was obeyed
    assert browser.find_elements(By.CSS_SELECTOR, "img, main script") == []

    # Items of one annotator, found by name.
    browser.find_element(By.CSS_SELECTOR, "#annotator-table .theirs").click()
    at(browser, "/items?by=")
    assert "Labelled by" in text_of(browser, "header")
    browser.find_element(By.LINK_TEXT, "Show items of all annotators").click()
    until(browser, lambda: text_of(browser, "#found").startswith("60 items, page 1 of 2"))
    browser.find_element(By.ID, "find").send_keys(SCRIPT, Keys.ENTER)
    until(browser, lambda: text_of(browser, "#found") == "6 items")
    assert SCRIPT in text_of(browser, "#all-items")
    require_fine(browser, home)

    # Downloads.
    browser.back()
    until(browser, lambda: text_of(browser, "#found").startswith("60"))
    browser.find_elements(By.CSS_SELECTOR, ".where a")[2].click()
    at(browser, "/results/")
    for link in browser.find_elements(By.CSS_SELECTOR, ".links a[download]"):
        link.click()
    names = {"consensus.csv", "annotators.csv", "report.html"}
    until(browser, lambda: names <= {each.name for each in downloads.iterdir()})
    with (downloads / "consensus.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 60
    assert {row["label"] for row in rows} <= set(hostile_labels().classes)
    assert (downloads / "report.html").read_text().startswith("<!doctype html>")

    # Methods are compared.
    browser.get(file)
    browser.find_element(By.CSS_SELECTOR, "#compare button").click()
    at(browser, "/comparisons/")
    assert text_of(browser, "#winner").startswith("The best here is")
    require_fine(browser, home)
    assert all(each.startswith((server.url, "data:")) for each in addresses_asked(browser))


def test_a_file_is_dropped_and_removed_by_keyboard(browser, server, request):
    open_page(browser, server.url)
    browser.execute_script(
        "const data = new DataTransfer();"
        "data.items.add(new File(['item,annotator,label\\na,u,x\\nb,v,y\\n'], 'dropped.csv'));"
        "document.getElementById('drop').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))"
    )
    at(browser, "/files/")
    assert text_of(browser, "h1") == "dropped.csv"
    browser.find_element(By.LINK_TEXT, "Start").send_keys(Keys.ENTER)
    until(browser, lambda: browser.find_elements(By.ID, "drop"))
    reached = []
    for _ in range(6):
        webdriver.ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.switch_to.active_element.text)
    assert reached[:4] == ["Skip to the content", "", "Look at an example", "dropped.csv"]
    assert reached[4].startswith("Remove")
    for key in (Keys.SHIFT + Keys.TAB + Keys.SHIFT, Keys.ENTER):
        browser.switch_to.active_element.send_keys(key)
    until(browser, lambda: "dropped.csv" not in text_of(browser, "main"))
    colours = []
    for scheme in ("light", "dark"):
        show_as(browser, prefers_color_scheme=scheme)
        colours.append(
            browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 23, 26)"]
