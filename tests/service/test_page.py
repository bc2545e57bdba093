"""The page in a real browser, on the real service."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from browsing import Visit, run_browser, visit

from service import facts
from tests.service.conftest import EXACT, check_problem, compare, finish, request, submit, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx2
    from playwright.sync_api import Browser, Page, Route

UNITS = {"measure": "tsi", "method": "units", "units": 256}
CALIBRATION = {"permutations": 40}
LONG = {"measure": "qsi", "method": "sampled", "samples": 2 * 10**9}
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests here."""
    with run_browser() as browser:
        yield browser


@pytest.fixture
def tab(browser: Browser, client: httpx2.Client) -> Iterator[Visit]:
    """A tab of its own, whose requests and complaints are looked at when the test is over."""
    with visit(browser, _origin(client)) as tab:
        yield tab


@pytest.fixture(scope="module")
def layers(client: httpx2.Client) -> dict[str, Any]:
    """Results of layers with layers."""
    x, y = ({"layers": _named(paths)} for paths in (["large", "larger"], ["larger", "large"]))
    return compare(client, {"process": "layers", "x": x, "y": y, "measure": UNITS, "calibration": CALIBRATION})


@pytest.fixture(scope="module")
def models(client: httpx2.Client) -> dict[str, Any]:
    """Results of models with one another."""
    return compare(
        client,
        {
            "process": "matrix",
            "arrays": _named(["x", "y", "float", "half"]),
            "measure": UNITS | {"targets": 4},
            "calibration": CALIBRATION,
            "differences": {"x": 0, "reference": 1},
        },
    )


@pytest.fixture(scope="module")
def views(client: httpx2.Client, layers: dict[str, Any], models: dict[str, Any]) -> dict[str, str]:
    """Addresses of all views, and what they show when they are complete."""
    measures = [EXACT | {"per_anchor": True}, {"measure": "cka"}]
    compared = compare(client, request("large", "larger", measures, calibration=CALIBRATION))
    failed = finish(client, request("nan"))
    return {
        "/#/jobs": "ol.jobs li",
        "/#/data": "table",
        "/#/new": "button[type=submit].primary",
        f"/#/jobs/{failed['jobID']}": ".problem",
        **{f"/#/jobs/{results['jobID']}": ".pin" for results in (compared, layers, models)},
    }


def _origin(client: httpx2.Client) -> str:
    return str(client.base_url).rstrip("/")


def _named(paths: list[str]) -> list[dict[str, str]]:
    return [{"root": "lab", "path": path} for path in paths]


def _job(page: Page) -> str:
    page.wait_for_url("**/#/jobs/*")
    return page.url.rpartition("/")[2]


def test_a_job_goes_from_the_form_to_its_report(tab: Visit, client: httpx2.Client) -> None:
    page = tab.open()
    page.get_by_role("link", name="New comparison").click()
    page.get_by_label("x", exact=True).fill("lab:large")
    page.get_by_label("y", exact=True).fill("lab:larger")
    page.get_by_label("Label").fill("from the form")
    page.get_by_role("button", name="Add a measure").click()
    page.get_by_label("Measure", exact=True).nth(1).select_option("qsi")
    page.get_by_label("Method").nth(1).select_option("sampled")
    page.get_by_label("Samples").fill("5000")
    page.get_by_role("button", name="See what it costs").click()
    plan = page.get_by_role("region", name="The plan")
    assert "Memory of a worker" in plan.inner_text()
    assert plan.get_by_role("row").count() == 3  # a heading, and a line for each measure
    page.get_by_role("button", name="Submit this job").click()
    page.get_by_role("heading", name="Triplet similarity").wait_for()
    job = _job(page)
    tsi, qsi = client.get(f"/v1/jobs/{job}/results").json()["results"]
    assert qsi["counts"]["comparisons"] == "5000"
    assert page.get_by_role("heading", level=1).inner_text() == "from the form"
    report = page.get_by_role("article", name="Triplet similarity TSI exact")
    assert report.locator(".numeral").first.inner_text() == f"{tsi['score']:.6f}"
    scale = report.get_by_role("img").first.get_attribute("aria-label") or ""
    assert f"Score {tsi['score']:.6f}, between a baseline of {tsi['baseline']:.6f}" in scale
    anchors = np.load(io.BytesIO(client.get(f"/v1/jobs/{job}/artifacts/0-per_anchor.npy").content))
    worst = report.get_by_role("region", name="The least aligned rows").get_by_role("row").nth(1)
    assert worst.inner_text().split() == [str(anchors.argmin()), f"{anchors.min():.6f}"]
    with page.expect_download() as found:
        page.get_by_role("link", name="Results, JSON").click()
    assert found.value.path().read_bytes() == client.get(f"/v1/jobs/{job}/results").content
    for link, suffix in (("HTML, one page with drawings", "html"), ("Results, CSV", "csv")):
        with page.expect_download() as found:
            page.get_by_role("link", name=link).click()
        assert found.value.suggested_filename == f"ordsim-{job}.{suffix}"
        assert found.value.path().read_bytes() == client.get(f"/v1/jobs/{job}/report.{suffix}").content


def test_a_calibrated_job_shows_its_null_beside_what_was_observed(tab: Visit, client: httpx2.Client) -> None:
    page = tab.open("/#/new")
    page.get_by_label("x", exact=True).fill("lab:x")
    page.get_by_label("y", exact=True).fill("lab:y")
    page.get_by_label("Set the score against chance").check()
    page.get_by_label("Permutations").fill("60")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("button", name="Submit this job").click()
    drawn = page.get_by_role("img", name="Null distribution of 60 permutations")
    drawn.wait_for()
    (result,) = client.get(f"/v1/jobs/{_job(page)}/results").json()["results"]
    found = result["calibration"]
    label = drawn.get_attribute("aria-label") or ""
    assert f"observed {found['observed']:.4f}, threshold {found['threshold']:.4f}" in label
    assert drawn.locator(".pin").count() == 2
    assert drawn.locator(".bars rect").count() > 0
    shown = page.locator(".numeral").nth(1).inner_text()
    assert float(shown) == pytest.approx(found["pValue"], rel=0.01)


def test_the_least_aligned_rows_are_named_by_their_identifiers(
    tab: Visit, client: httpx2.Client, read: Callable[[str], np.ndarray]
) -> None:
    words = {"root": "lab", "path": "ids/words"}
    found = compare(client, request(measures=[{**EXACT, "per_anchor": True}], ids={"x": words, "y": words}))
    page = tab.open(f"/#/jobs/{found['jobID']}")
    least = page.get_by_role("region", name="The least aligned rows")
    least.wait_for()
    anchors = np.load(io.BytesIO(client.get(f"/v1/jobs/{found['jobID']}/artifacts/0-per_anchor.npy").content))
    worst = int(anchors.argmin())
    shown = least.get_by_role("row").nth(1).inner_text().split()
    assert shown == [read("ids/words")[worst].decode(), str(worst), f"{anchors.min():.6f}"]


@pytest.mark.parametrize("process", ["compare", "layers"])
@pytest.mark.parametrize("align", ["check", "join"])
def test_the_page_says_how_rows_were_paired_as_the_command_does(
    tab: Visit, client: httpx2.Client, process: str, align: str
) -> None:
    y = "some" if align == "join" else "y"
    named = {"x": _named(["ids/a"])[0], "y": _named(["ids/some" if align == "join" else "ids/a"])[0]}
    asked = request(y=y, ids=named, align=align)
    if process == "layers":
        del asked["measures"]
        asked |= {"process": "layers", "x": {"layers": _named(["x"])}, "y": {"layers": _named([y])}, "measure": EXACT}
    found = compare(client, asked)
    said = (facts.rows if process == "compare" else facts.rows_of_each)(found["inputs"])
    words = "joined by their identifiers" if align == "join" else "their identifiers were checked and are equal"
    assert words in said
    page = tab.open(f"/#/jobs/{found['jobID']}")
    page.locator(".report").wait_for()
    assert page.locator(".report > .lede").inner_text() == said


def test_layers_are_a_map_with_the_best_pair(tab: Visit, layers: dict[str, Any]) -> None:
    page = tab.open(f"/#/jobs/{layers['jobID']}")
    best = layers["best"]
    x, y = (["large", "larger"][best["x"]], ["larger", "large"][best["y"]])
    drawn = page.get_by_role("img", name=f"the best pair is {x} of x with {y} of y")
    drawn.wait_for()
    assert drawn.locator("text.title").all_text_contents() == ["x: lab:", "y: lab:"]
    assert drawn.locator("rect[data-row]").count() == 4
    ring, cell = drawn.locator(".best"), drawn.locator(f"rect[data-row='{best['x']}'][data-column='{best['y']}']")
    assert (ring.bounding_box() or {})["x"] == pytest.approx((cell.bounding_box() or {})["x"], abs=3)
    cell.hover()
    assert f"{x} of x with {y} of y: {best['score']:.6f}, p " in page.locator(".readout").inner_text()
    page.get_by_role("img", name="Null distribution of 40 permutations").wait_for()


def test_jobs_of_many_arrays_are_told_apart_by_their_folders(tab: Visit, layers: dict[str, Any]) -> None:
    page = tab.open()
    page.get_by_role("link", name="lab:large and 1 other with lab:larger and 1 other").first.wait_for()
    x, y = ({"layers": _named([f"models/{model}/layer{place}" for place in range(6)])} for model in "ab")
    jobs = [
        {"process": "layers", "request": {"x": x, "y": y}},
        {"process": "matrix", "request": {"arrays": x["layers"] + y["layers"]}},
        {"process": "layers", "request": {"x": x, "y": {"layers": y["layers"][:1]}}},
    ]
    assert page.evaluate("(jobs) => import('/static/words.js').then((words) => jobs.map(words.jobArrays))", jobs) == [
        "6 layers of lab:models/a/ with 6 of lab:models/b/",
        "12 arrays of lab:models/ with one another",
        "6 layers of lab:models/a/ with lab:models/b/layer0",
    ]


def test_names_of_columns_stay_inside_a_narrow_page(
    browser: Browser, client: httpx2.Client, models: dict[str, Any], layers: dict[str, Any]
) -> None:
    for found in (models, layers):
        with visit(browser, _origin(client), width=375) as tab:
            page = tab.open(f"/#/jobs/{found['jobID']}")
            page.locator(".heatmap svg text.name").first.wait_for()
            ends = "(all) => all.map((one) => one.getBoundingClientRect().right)"
            right = page.locator(".heatmap .drawing").first.evaluate("(one) => one.getBoundingClientRect().right")
            assert max(page.locator(".heatmap .drawing svg text").evaluate_all(ends)) <= right


def test_models_stand_in_dendrogram_order(tab: Visit, models: dict[str, Any]) -> None:
    page = tab.open(f"/#/jobs/{models['jobID']}")
    page.get_by_text("The scores as a table").click()
    rows = page.get_by_role("region", name="Scores").get_by_role("row").all_inner_texts()
    order = models["order"]
    assert [line.split()[0] for line in rows[1:]] == [models["labels"][place].removeprefix("lab:") for place in order]
    assert rows[1].split()[1:] == [f"{models['scores'][order[0]][place]:.6f}" for place in order]
    differences = page.get_by_role("region", name="Differences").get_by_role("row")
    assert differences.count() == 1 + len(models["differences"])


def test_everything_can_be_done_from_the_keyboard(tab: Visit) -> None:
    page = tab.open()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()
    assert tab.tab_to("Skip to the content") == 1
    tab.tab_to("Compare")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="See what it costs").wait_for()
    for side in ("x", "y"):
        tab.tab_to(side)
        page.keyboard.type(f"lab:{side}")
    tab.tab_to("See what it costs")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Submit this job").wait_for()
    tab.tab_to("Submit this job")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Triplet similarity").wait_for()
    tab.tab_to("Results, JSON")


def test_arrays_are_picked_where_they_are_listed(tab: Visit) -> None:
    page = tab.open("/#/data")
    row = page.get_by_role("row", name="larger")
    assert {"600", "8", "float32"} <= set(row.inner_text().split())
    page.get_by_role("button", name="Use large as x", exact=True).click()
    page.get_by_role("button", name="Use larger as y", exact=True).click()
    pressed = page.locator("[aria-pressed=true]")
    assert [one.get_attribute("aria-label") for one in pressed.all()] == ["Use large as x", "Use larger as y"]
    page.get_by_role("complementary").get_by_role("link", name="Compare").click()
    assert page.get_by_label("x", exact=True).input_value() == "lab:large"
    assert page.get_by_label("y", exact=True).input_value() == "lab:larger"
    page.locator(".shape").nth(1).get_by_text("float32").wait_for()


def test_folders_lead_down_and_up(tab: Visit) -> None:
    page = tab.open("/#/data")
    page.get_by_role("navigation", name="Folders").get_by_role("link", name="ids/").click()
    page.get_by_role("row", name="ids/some", exact=False).first.wait_for()
    assert page.get_by_role("rowheader", name="large", exact=True).count() == 0
    page.get_by_role("navigation", name="Path").get_by_role("link", name="lab").click()
    page.get_by_role("rowheader", name="large", exact=True).wait_for()


def test_unequal_rows_are_answered_with_what_the_form_has(tab: Visit) -> None:
    page = tab.open("/#/new")
    page.get_by_label("x", exact=True).fill("lab:x")
    page.get_by_label("y", exact=True).fill("lab:some")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("alert").get_by_text("In this form: give row identifiers").wait_for()
    page.get_by_text("Rows, groups and identifiers", exact=True).click()
    page.get_by_label("Row identifiers of x").fill("lab:ids/a")
    page.get_by_label("Row identifiers of y").fill("lab:ids/some")
    page.get_by_text("More options", exact=True).click()
    page.get_by_label("Use of row identifiers").select_option("join")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("button", name="Submit this job").wait_for()


def test_small_large_and_timed_figures_are_told_as_they_are(tab: Visit) -> None:
    page = tab.open()
    found = page.evaluate(
        "import('/static/numerals.js').then(({ pValue, rounded, moment }) =>"
        " [pValue(1.15e-66), pValue(0.0196), rounded(2 ** 53 + 2), moment('2026-03-04T05:06:07Z')])"
    )
    assert found[:3] == ["1.15e-66", "0.0196", "9.0e15"]  # from 2^53 on, no more digits than are right
    assert found[3].startswith("4 Mar 2026") or found[3].startswith("3 Mar 2026")
    assert found[3].rpartition(" ")[2].startswith(("UTC", "GMT"))


def test_problems_stand_at_the_fields_they_are_about(tab: Visit) -> None:
    page = tab.open("/#/new")
    page.get_by_label("x", exact=True).fill("lab:x")
    page.get_by_label("y", exact=True).fill("lab:nowhere")
    page.get_by_role("button", name="See what it costs").click()
    page.get_by_role("alert").get_by_role("button").wait_for()
    y = page.get_by_label("y", exact=True)
    assert y.get_attribute("aria-invalid") == "true"
    described = (y.get_attribute("aria-describedby") or "").split()[-1]
    assert "nowhere" in page.locator(f"#{described}").inner_text()
    y.fill("lab:y")
    page.get_by_label("Measure", exact=True).select_option("tsi")
    page.get_by_label("Method").select_option("anchors")
    page.get_by_label("Anchors", exact=True).fill("many")
    page.get_by_role("button", name="See what it costs").click()
    page.locator("[aria-invalid]").wait_for()
    assert page.get_by_label("Anchors", exact=True).get_attribute("aria-invalid") == "true"
    assert y.get_attribute("aria-invalid") is None


def test_a_failed_job_says_what_happened_and_who_must_act(tab: Visit, client: httpx2.Client) -> None:
    status = finish(client, request("nan", label=HOSTILE))
    page = tab.open(f"/#/jobs/{status['jobID']}")
    problem = page.get_by_role("region", name="Problem")
    assert status["exception"]["detail"] in problem.inner_text()
    assert "The data has to change." in problem.inner_text()
    # What data says is text, here and in the list, and nothing else.
    assert page.get_by_role("heading", level=1).inner_text() == HOSTILE
    page = tab.open("/#/jobs")
    assert page.get_by_role("link", name=HOSTILE).first.inner_text() == HOSTILE
    assert page.locator("main img, main script").count() == 0
    assert page.evaluate("window.hacked") is None


def test_an_undefined_score_says_why(tab: Visit, client: httpx2.Client) -> None:
    # From row 4 on, all rows are the same.
    results = compare(client, request("twins", "x", [{"measure": "cka"}, EXACT], rows={"start": 4, "stop": 8}))
    reason = results["results"][0]["reason"]
    page = tab.open(f"/#/jobs/{results['jobID']}")
    page.get_by_role("heading", name="At a glance").wait_for()
    assert page.get_by_text("No score:").count() == 1
    assert reason in page.get_by_role("article", name="Centred kernel alignment").inner_text()


def test_a_job_is_watched_and_cancelled(tab: Visit, client: httpx2.Client) -> None:
    job = submit(client, request("large", "larger", [LONG]))
    page = tab.open(f"/#/jobs/{job}")
    page.get_by_role("progressbar").wait_for()
    wait_until(lambda: "percent" in page.locator("#announcements").inner_text(), 60, "progress to be announced")
    page.get_by_role("button", name="Cancel this job").click()
    page.get_by_text("This job was cancelled, so there are no results.").wait_for()
    assert client.get(f"/v1/jobs/{job}").json()["status"] == "dismissed"


def test_a_job_that_is_not_there_cannot_be_cancelled(tab: Visit) -> None:
    page = tab.open("/#/jobs/nonsense")
    page.get_by_role("heading", level=1, name="There is no such job").wait_for()
    assert "nonsense" in page.locator("main").inner_text()
    assert page.get_by_role("main").get_by_role("button").count() == 0
    assert "/v1/jobs" not in page.locator("main").inner_text()
    assert tab.faults() == []
    page.get_by_role("main").get_by_role("link", name="All jobs").click()
    page.get_by_role("heading", level=1, name="Jobs").wait_for()


def test_without_a_stream_of_events_the_page_asks(tab: Visit, client: httpx2.Client) -> None:
    tab.page.route("**/events", lambda route: route.fulfill(status=404, body="{}"))
    job = submit(client, request("large", "larger", [EXACT, {"measure": "qsi", "method": "exact"}]))
    page = tab.open(f"/#/jobs/{job}")
    page.get_by_role("heading", name="Quadruplet similarity").wait_for()


def test_a_key_is_asked_for_and_sent(tab: Visit) -> None:
    refused = (
        '{"type": "/problems/unauthenticated", "status": 401, "detail": "Send `Authorization`.", "origin": "request"}'
    )

    def guard(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer ordsim_k_s":
            route.continue_()
        else:
            route.fulfill(status=401, body=refused, content_type="application/problem+json")

    tab.page.route("**/v1/**", guard)
    page = tab.open()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Enter yours to go on").wait_for()
    page.get_by_label("Key", exact=True).fill("ordsim_k_mistyped")
    page.keyboard.press("Enter")
    dialog.get_by_text("does not accept the key of this tab").wait_for()
    assert "Authorization" not in page.locator("body").inner_text()
    page.get_by_label("Key", exact=True).fill("ordsim_k_s")
    page.keyboard.press("Enter")
    page.get_by_role("list", name="Jobs, newest first").get_by_role("listitem").first.wait_for()
    assert not any("ordsim_k_s" in address for address in tab.addresses)


def test_the_policy_holds(browser: Browser, client: httpx2.Client) -> None:
    for address in ("/", "/docs", "/static/app.js", "/static/charts/scale.js"):
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert answer.headers["content-security-policy"].startswith("default-src 'self';"), address
        assert client.head(address).status_code == 200
    known = {"If-None-Match": client.get("/static/app.js").headers["etag"]}
    assert client.get("/static/app.js", headers=known).status_code == 304
    for nowhere in ("/static/none.js", "/static/..%2fapp.py", "/static/"):
        check_problem(client.get(nowhere), 404, "not-found")
    refused = client.post("/")
    check_problem(refused, 405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD"
    context = browser.new_context()
    page = context.new_page()
    page.goto(_origin(client))
    page.evaluate(
        "new Promise((seen) => { document.addEventListener('securitypolicyviolation', seen, { once: true });"
        " const made = document.createElement('script'); made.textContent = 'window.hacked = 1';"
        " document.body.append(made); })"
    )
    assert page.evaluate("window.hacked") is None
    context.close()


def test_the_api_is_described_by_the_service_itself(tab: Visit, client: httpx2.Client) -> None:
    page = tab.open("/docs")
    page.get_by_role("heading", name="POST /v1/jobs", exact=True).wait_for()
    described = client.get("/openapi.json").json()
    assert page.locator(".operation").count() == sum(len(operations) for operations in described["paths"].values())
    assert page.locator("details.schema").count() == len(described["components"]["schemas"])
    assert tab.faults() == []


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)], ids=["light", "narrow and dark"])
def test_everyone_can_use_every_view(
    browser: Browser, client: httpx2.Client, views: dict[str, str], width: int, dark: bool
) -> None:
    with visit(browser, _origin(client), width=width, dark=dark) as tab:
        for address, awaited in views.items():
            page = tab.open(address)
            page.locator(awaited).first.wait_for()
            page.evaluate("document.querySelectorAll('main details').forEach((part) => { part.open = true; })")
            assert (address, tab.faults()) == (address, [])
            assert (address, max(0, tab.overflow())) == (address, 0)
