// A form for a job: what it would cost is shown first, then it can be submitted.

import { choose, chosen } from "../chosen.js";
import { announce, fill, h } from "../dom.js";
import { Shelf } from "../form/arrays.js";
import { planPanel } from "../form/plan.js";
import { clearProblems, showProblem } from "../form/problems.js";
import { requestForm } from "../form/request.js";
import { get, post } from "../service.js";

const KINDS = { compare: "Two arrays", layers: "Layers of two models", matrix: "Several models" };

/** The form. */
export function submitView({ go, signal }) {
  const place = h("div", {}, h("p", { class: "later" }, "Fetching the catalogue …"));
  load(place, { go, signal }).catch((error) => {
    if (!signal.aborted) fill(place, h("p", { class: "empty" }, error.message));
  });
  return { title: "Compare", content: [h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Compare")), place] };
}

async function load(place, { go, signal }) {
  const { roots } = await get("/v1/roots", signal);
  const { processes } = await get("/v1/processes", signal);
  const described = Object.fromEntries(await Promise.all(processes.map(async ({ id }) => [id, await get(`/v1/processes/${id}`, signal)])));
  const shelf = new Shelf(roots.map(({ name }) => name), signal);
  const summary = h("div", { class: "summary", role: "alert", tabindex: "-1", hidden: true });
  const panel = h("section", { class: "plan", "aria-label": "The plan", tabindex: "-1", hidden: true });
  const fieldsPlace = h("div", {});
  let current = null;
  const build = (process, initial) => {
    current = requestForm(described[process], shelf, initial);
    fill(fieldsPlace, current.element);
    panel.hidden = true;
  };
  const ask = h("button", { type: "submit", class: "primary" }, "See what it costs");
  const form = h("form", { class: "submit", novalidate: true, onsubmit: (event) => {
    event.preventDefault();
    plan({ form, summary, panel, ask, read: () => current.read(), go, signal });
  }, oninput: () => { panel.hidden = true; }, onchange: () => { panel.hidden = true; } },
    kindsPart(processes, chosen().process, (process) => build(process, common(current.read()))),
    summary, fieldsPlace, h("div", { class: "buttons" }, ask), panel);
  build(described[chosen().process] ? chosen().process : "compare", chosen());
  fill(place, form);
}

/** What a request of another kind can begin with. */
function common({ process, x, y, arrays, measure, measures, differences, aggregate, ...rest }) {
  return rest;
}

function kindsPart(processes, current, choosing) {
  return h("fieldset", { class: "kinds" }, h("legend", { class: "unseen" }, "What to compare"),
    processes.map(({ id, title }) => h("label", {},
      h("input", { type: "radio", name: "process", value: id, checked: id === (current ?? "compare"), onchange: () => choosing(id) }),
      h("span", {}, KINDS[id] ?? title))));
}

async function plan({ form, summary, panel, ask, read, go, signal }) {
  clearProblems(form, summary);
  const request = read();
  ask.disabled = true;
  try {
    const found = await post("/v1/plans", request, signal);
    const name = randomName();
    const submit = h("button", { type: "button", class: "primary", onclick: async () => {
      submit.disabled = true;
      try {
        const job = await post("/v1/jobs", request, signal, { "Idempotency-Key": name });
        choose({});
        go(`#/jobs/${encodeURIComponent(job.jobID)}`);
      } catch (error) {
        submit.disabled = false;
        showProblem(form, summary, error);
      }
    } }, "Submit this job");
    fill(panel, planPanel(found, submit));
    panel.hidden = false;
    panel.scrollIntoView({ block: "nearest" });
    panel.focus();
    announce("The plan is there.");
  } catch (error) {
    if (!signal.aborted) showProblem(form, summary, error);
  } finally {
    ask.disabled = false;
  }
}

/** A name for one submission: sent twice, it makes one job. */
function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
