// All jobs, newest first, as they go on.

import { announce, fill, h } from "../dom.js";
import { ago, moment } from "../numerals.js";
import { cancel, FINAL, get, pause } from "../service.js";
import { jobArrays, jobMeasures, jobProgress, jobTitle, PROCESSES, STATUSES } from "../words.js";

const PAGE = 30;
const BUSY_MILLISECONDS = 1500;
const QUIET_MILLISECONDS = 5000;

/** The list; `query` holds the filters and the page, as the address does. */
export function jobsView({ query, go, signal }) {
  const list = h("ol", { class: "jobs", "aria-label": "Jobs, newest first" });
  const said = h("p", { class: "empty", hidden: true });
  const pages = h("nav", { class: "pages", "aria-label": "Pages" });
  const cards = new Map();
  const show = ({ jobs, links }) => {
    for (const [id, card] of cards) if (!jobs.some((job) => job.jobID === id)) { card.element.remove(); cards.delete(id); }
    jobs.forEach((job, place) => {
      if (!cards.has(job.jobID)) cards.set(job.jobID, jobCard(job));
      const card = cards.get(job.jobID);
      card.update(job);
      if (list.children[place] !== card.element) list.insertBefore(card.element, list.children[place] ?? null);
    });
    said.hidden = jobs.length > 0;
    fill(said, filtered(query) ? "No job matches." : ["No jobs yet. ", h("a", { href: "#/new" }, "Compare two arrays.")]);
    showPages(pages, query, links);
    return jobs.some((job) => !FINAL.has(job.status));
  };
  keepUp(query, show, said, signal);
  return {
    title: "Jobs",
    content: [
      h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Jobs"), h("a", { href: "#/new", class: "button primary" }, "New comparison")),
      filters(query, go), list, said, pages,
    ],
  };
}

async function keepUp(query, show, said, signal) {
  while (!signal.aborted) {
    let busy = false;
    if (!document.hidden) {
      try {
        busy = show(await get(`/v1/jobs?${parameters(query)}`, signal));
      } catch (error) {
        if (signal.aborted) return;
        said.hidden = false;
        fill(said, error.message);
        if (error.status >= 400 && error.status < 500) return;
      }
    }
    await pause(busy ? BUSY_MILLISECONDS : QUIET_MILLISECONDS, signal);
  }
}

function filtered(query) {
  return ["status", "process", "label", "tag"].some((name) => query.get(name));
}

function parameters(query) {
  const sent = new URLSearchParams({ limit: String(PAGE) });
  for (const name of ["status", "process", "label", "tag", "cursor"]) if (query.get(name)) sent.set(name, query.get(name));
  return sent;
}

function filters(query, go) {
  const choose = (name, label, options) => {
    const select = h("select", { id: `filter-${name}`, name }, h("option", { value: "" }, "all"),
      Object.entries(options).map(([value, text]) => h("option", { value, selected: query.get(name) === value }, text)));
    select.addEventListener("change", () => form.requestSubmit());
    return h("div", { class: "field" }, h("label", { for: select.id }, label), select);
  };
  const write = (name, label, placeholder) => h("div", { class: "field" },
    h("label", { for: `filter-${name}` }, label),
    h("input", { type: "text", id: `filter-${name}`, name, placeholder, value: query.get(name) ?? "", autocomplete: "off" }));
  const form = h("form", { class: "filters", role: "search", "aria-label": "Filter jobs", onsubmit: (event) => {
    event.preventDefault();
    const kept = [...new FormData(form)].filter(([, value]) => value);
    go(`#/jobs${kept.length ? `?${new URLSearchParams(kept)}` : ""}`, { keepFocus: true });
  } },
    choose("status", "Status", STATUSES), choose("process", "Kind", PROCESSES),
    write("label", "Label", "the whole label"), write("tag", "Tag", "key:value"),
    h("button", { type: "submit" }, "Filter"));
  return form;
}

function showPages(place, query, links) {
  const next = links.find((link) => link.rel === "next");
  const found = [];
  const address = (cursor) => {
    const kept = new URLSearchParams(query);
    kept.delete("cursor");
    if (cursor) kept.set("cursor", cursor);
    return `#/jobs${String(kept) ? `?${kept}` : ""}`;
  };
  if (query.get("cursor")) found.push(["Newest", address(null)]);
  if (next) found.push(["Older", address(new URLSearchParams(next.href.split("?")[1]).get("cursor"))]);
  // Links that stay the same are left alone, so that they keep the focus.
  if (place.dataset.shown !== JSON.stringify(found)) {
    place.dataset.shown = JSON.stringify(found);
    fill(place, found.map(([text, href]) => h("a", { href }, text)));
  }
}

/** One job of the list: what stays is made once, what changes is written again. */
function jobCard(job) {
  const status = h("span", { class: "status" });
  const bar = h("progress", { max: 100, "aria-label": `Progress of ${jobTitle(job)}` });
  const message = h("p", { class: "message" });
  const time = h("time", { datetime: job.created, title: moment(job.created) });
  const stop = h("button", { type: "button", class: "quiet", "aria-label": `Cancel ${jobTitle(job)}`, onclick: async () => {
    stop.disabled = true;
    try {
      update(await cancel(job.jobID));
    } catch (error) {
      announce(error.message);
    }
  } }, "Cancel");
  let last = job.status;
  const update = (now) => {
    status.className = `status ${now.status}`;
    status.textContent = STATUSES[now.status];
    bar.value = now.progress;
    bar.textContent = `${now.progress}%`;
    bar.hidden = now.status !== "running";
    message.textContent = now.status === "failed" || !FINAL.has(now.status) ? jobProgress(now) : "";
    stop.hidden = FINAL.has(now.status);
    time.textContent = ago(now.created);
    if (now.status !== last) announce(`${jobTitle(now)}: ${STATUSES[now.status]}.`);
    last = now.status;
  };
  const element = h("li", { class: "job" },
    h("div", { class: "what" },
      h("a", { href: `#/jobs/${encodeURIComponent(job.jobID)}`, class: "name" }, jobTitle(job)),
      h("p", { class: "about" }, job.label ? `${jobArrays(job)} · ` : "", jobMeasures(job)),
      message),
    h("div", { class: "state" }, status, bar, time, stop));
  return { element, update };
}
