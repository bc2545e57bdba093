// Problems of a request, each beside the field that its pointer names.

import { fill, h } from "../dom.js";
import { ORIGINS } from "../words.js";

/** What this form has for a problem, where the service's own advice speaks of requests. */
const ADVICE = {
  "row-count-mismatch": "In this form: give row identifiers of x and y, under “Rows, groups and identifiers”, and under “More options” join rows by them. "
    + "Different rows of x and of y can be asked for over HTTP, as rows of each reference.",
};

/** Take all problems off a form. */
export function clearProblems(form, summary) {
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  for (const error of form.querySelectorAll(".error")) {
    error.hidden = true;
    error.textContent = "";
  }
  summary.hidden = true;
  fill(summary);
}

/** Show a problem: at its fields, and summed up in `summary`, which takes the focus. */
export function showProblem(form, summary, problem) {
  const found = (problem.errors ?? []).map((error) => ({ ...error, control: controlOf(form, error.pointer) }));
  for (const { control, detail, pointer } of found) if (control) mark(control, withoutPath(detail, pointer));
  const places = found.length ? found : [{ detail: problem.message, control: null }];
  // Labels of groups have no identifiers to be joined by.
  const advice = found.some(({ pointer }) => pointer === "/groups") ? null : ADVICE[problem.slug];
  fill(summary,
    h("h2", {}, problem.document?.title ?? "Something is wrong"),
    found.length && !found.some(({ detail }) => detail === problem.message) ? h("p", {}, problem.message) : null,
    h("ul", {}, places.map(({ detail, control }) => h("li", {}, control ? jump(control, detail) : detail))),
    advice ? h("p", {}, advice) : null,
    h("p", { class: "hint" }, ORIGINS[problem.document?.origin] ?? null));
  summary.hidden = false;
  summary.focus();
}

/** At its field, a fault need not say again where it is. */
function withoutPath(detail, pointer) {
  const path = `${pointer.slice(1).replaceAll("/", ".")}: `;
  return detail.startsWith(path) ? detail.slice(path.length) : detail;
}

function jump(control, detail) {
  return h("button", { type: "button", class: "link", onclick: () => {
    for (let place = control.closest("details"); place; place = place.parentElement.closest("details")) place.open = true;
    control.focus();
  } }, detail);
}

function mark(control, detail) {
  control.setAttribute("aria-invalid", "true");
  const error = document.getElementById(`${control.id}-error`);
  if (!error) return;
  error.textContent = error.textContent ? `${error.textContent} ${detail}` : detail;
  error.hidden = false;
  for (let place = control.closest("details"); place; place = place.parentElement.closest("details")) place.open = true;
}

/** The field at a pointer, or at the longest beginning of it that has one, or the first inside it. */
function controlOf(form, pointer) {
  if (!pointer) return null;
  const controls = [...form.querySelectorAll("[data-pointer]")];
  for (let at = pointer; at; at = at.slice(0, at.lastIndexOf("/"))) {
    const exact = controls.find((control) => control.dataset.pointer === at);
    if (exact) return exact;
    if (at === pointer) {
      const inside = controls.find((control) => control.dataset.pointer.startsWith(`${at}/`));
      if (inside) return inside;
    }
  }
  return null;
}
