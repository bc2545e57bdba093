// One job: how it is doing, what came of it.

import { choose } from "../chosen.js";
import { announce, details, facts, fill, h } from "../dom.js";
import { moment } from "../numerals.js";
import { report } from "../report/report.js";
import { cancel, FINAL, follow, get, key } from "../service.js";
import { jobArrays, jobMeasures, jobProgress, jobTitle, ORIGINS, PROCESSES, STATUSES, titled } from "../words.js";

/** The page of a job. */
export function jobView({ id, setTitle, signal }) {
  const heading = h("h1", { tabindex: "-1" }, "Job");
  const status = h("span", { class: "status" });
  const about = h("p", { class: "about" });
  const progress = progressPart(id);
  const place = h("div", {}, h("p", { class: "later" }, "Fetching the job …"));
  let shown = null;
  const show = (job) => {
    const title = jobTitle(job);
    heading.textContent = title;
    setTitle(title);
    status.className = `status ${job.status}`;
    status.textContent = STATUSES[job.status];
    about.textContent = `${PROCESSES[job.process] ?? job.process} · ${job.label ? `${jobArrays(job)} · ` : ""}${jobMeasures(job)}`;
    progress.update(job);
    place.querySelector(":scope > .later")?.remove();
    if (FINAL.has(job.status) && shown !== job.status) {
      shown = job.status;
      showEnd(place, job, signal);
    }
  };
  follow(id, show, signal).catch((error) => {
    if (signal.aborted) return;
    progress.element.hidden = true;
    if (error.slug === "unknown-job") {
      heading.textContent = "There is no such job";
      setTitle(heading.textContent);
      fill(place, unknownPart(id));
    } else {
      fill(place, problemPart(error.document ?? { title: error.message }));
    }
  });
  return {
    title: "Job",
    content: [h("header", { class: "job-head" }, status, heading, about), progress.element, place],
  };
}

/** What is said of an address that leads to no job. */
function unknownPart(id) {
  return h("div", { class: "stack" },
    h("p", { class: "lede" }, "No job is called ", h("code", {}, id), key() ? ", or it belongs to another key." : "."),
    h("p", {}, h("a", { href: "#/jobs" }, "All jobs")));
}

/** The bar, what is said beside it, and the way to stop it. */
function progressPart(id) {
  const bar = h("progress", { max: 100, "aria-label": "Progress" });
  const percent = h("span", { class: "percent" });
  const message = h("p", {});
  const stop = h("button", { type: "button", onclick: async () => {
    stop.disabled = true;
    try {
      await cancel(id);
      announce("Cancelling.");
    } catch (error) {
      announce(error.message);
      message.textContent = error.message;
    }
  } }, "Cancel this job");
  let told = -1;
  const update = (job) => {
    element.hidden = FINAL.has(job.status);
    bar.value = job.progress;
    percent.textContent = `${job.progress}%`;
    message.textContent = jobProgress(job);
    const tenth = Math.floor(job.progress / 10);
    if (FINAL.has(job.status)) {
      if (told >= 0) announce(`The job has ${job.status === "successful" ? "finished" : job.status === "failed" ? "failed" : "been cancelled"}.`);
    } else if (tenth !== told) {
      told = tenth;
      announce(`${job.progress} percent. ${job.message}`);
    }
  };
  // There is nothing to watch or cancel until the service has said that there is a job.
  const element = h("section", { class: "running", "aria-label": "Progress", hidden: true }, h("div", { class: "row" }, bar, percent), message, stop);
  return { element, update };
}

async function showEnd(place, job, signal) {
  if (job.status === "successful") {
    fill(place, h("p", { class: "later" }, "Fetching the results …"));
    try {
      fill(place, report(job, await get(`/v1/jobs/${encodeURIComponent(job.jobID)}/results`, signal), signal));
    } catch (error) {
      if (signal.aborted) return;
      fill(place, problemPart(error.document ?? { title: "The report cannot be shown", detail: error.message }));
    }
  } else if (job.status === "failed") {
    fill(place, problemPart(job.exception ?? { title: "Failed", detail: "The reason is lost." }));
  } else {
    fill(place, h("p", { class: "lede" }, "This job was cancelled, so there are no results."));
  }
  place.append(requestPart(job));
}

/** A problem in words, and who must act. */
export function problemPart(problem) {
  return h("section", { class: "problem", "aria-label": "Problem" },
    h("h2", {}, problem.title ?? "Something went wrong"),
    problem.detail ? h("p", { class: "prose" }, problem.detail) : null,
    problem.errors?.length > 1 ? h("ul", {}, problem.errors.map(({ detail }) => h("li", {}, detail))) : null,
    problem.origin ? h("p", { class: "act" }, ORIGINS[problem.origin] ?? "") : null,
    problem.requestID ? h("p", { class: "hint" }, "In the service's log: ", h("code", {}, problem.requestID)) : null);
}

/** What was asked for, and when; the same can be asked again. */
function requestPart(job) {
  const times = ["created", "started", "finished"].filter((name) => job[name]).map((name) => [titled(name), moment(job[name])]);
  return h("section", { "aria-labelledby": "request" },
    h("h2", { id: "request" }, "The request"),
    facts([["Job", h("code", {}, job.jobID)], ...times, ...Object.entries(job.tags ?? {})]),
    details("As JSON", h("pre", { tabindex: "0" }, JSON.stringify(job.request, null, 2))),
    h("p", {}, h("a", { href: "#/new", class: "button", onclick: () => choose(job.request) }, "Ask for something like it")));
}
