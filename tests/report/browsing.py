"""Headless Chromium for tests of pages.

They need Debian's packages chromium and chromium-driver; without them they are skipped.
"""

import json
import shutil

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WAIT_S = 300  # against a hang alone
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no chromium with its driver"
)


def new_browser(**settings):
    """A browser that keeps a log of what pages ask for."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", settings)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    browser.set_script_timeout(WAIT_S)
    return browser


def show_as(browser, *, width=1280, height=900, **media):
    """Set the size of the window, and what the reader prefers."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"prefers_reduced_motion": "reduce"} | media  # a click need not wait for scrolling
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def open_page(browser, address, **shown):
    browser.get_log("browser")
    browser.get_log("performance")
    show_as(browser, **shown)
    browser.get(address)
    WebDriverWait(browser, WAIT_S).until(
        lambda driver: driver.execute_script("return document.readyState") == "complete"
    )


def draw_all(browser):
    """Scroll to every chart, and wait until all are drawn."""
    figures = browser.find_elements(By.CSS_SELECTOR, "figure[data-chart]:not([hidden])")
    for figure in figures:
        browser.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", figure)
        WebDriverWait(browser, WAIT_S).until(
            lambda driver, figure=figure: figure.find_elements(By.CSS_SELECTOR, "svg")
        )
    return figures


def addresses_asked(browser):
    """The addresses of all requests since the last look."""
    messages = [json.loads(each["message"])["message"] for each in browser.get_log("performance")]
    return [
        each["params"]["request"]["url"]
        for each in messages
        if each["method"] == "Network.requestWillBeSent"
    ]


def axe_findings(browser, home):
    """What axe-core finds, as npm installs it into node_modules; without it the test is skipped."""
    axe = home / "node_modules" / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("no axe-core: npm install --no-save axe-core")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe.read_text()})
    return browser.execute_async_script(
        "const done = arguments[0]; axe.run().then(found => done(found.violations.map("
        "each => [each.id, each.nodes.slice(0, 3).map(node => node.html.slice(0, 200))])))"
    )
