// Parts that reports of all processes share: arrays, warnings, what made them, and files to take away.

import { details, facts, h, table } from "../dom.js";
import { counted, duration, grouped } from "../numerals.js";
import { bytes, key } from "../service.js";
import { named } from "../words.js";

/** The arrays as they were compared; `inputs` a list of [name, input]. */
export function arraysTable(inputs) {
  return table("The arrays", ["", "Array", "Shape", "Values", "Distance", "SHA-256"], inputs.map(([name, input]) => [
    name,
    named(input) + (input.rows ? `, ${rowsOf(input.rows)}` : ""),
    h("span", { class: "whole" }, input.shape.map(grouped).join(" × ")),
    input.dtype + (input.exactness === "integer" && input.dtype.startsWith("float") ? ", whole" : ""),
    input.distance,
    h("code", { title: input.fingerprint }, String(input.fingerprint).split(":").pop().slice(0, 12)),
  ]));
}

function rowsOf(rows) {
  return Number.isInteger(rows.start) ? `rows ${grouped(rows.start)} to ${grouped(rows.stop - 1)}` : "selected rows";
}

/** Which rows took part, in a sentence. */
export function rowsSentence(inputs) {
  const said = [`${counted(inputs.n, "row")} ${inputs.n === 1 ? "was" : "were"} compared, row by row.`];
  const dropped = [
    ["rows", inputs.rowsDropped], ["columns", inputs.columnsDropped],
  ].flatMap(([what, sides]) => Object.entries(sides ?? {}).filter(([, count]) => count > 0).map(([side, count]) => `${grouped(count)} ${what} of ${side}`));
  if (dropped.length) said.push(`Dropped: ${dropped.join(", ")}.`);
  if (inputs.groups) said.push(`They fall into ${counted(inputs.groups.count, "group")}.`);
  if (inputs.x?.fingerprint && inputs.x.fingerprint === inputs.y?.fingerprint) said.push("x and y hold the same values, bit for bit.");
  return said.join(" ");
}

/** What a reader should know. */
export function warningsList(warnings) {
  if (!warnings?.length) return null;
  return h("section", { class: "warnings", "aria-labelledby": "warnings" },
    h("h2", { id: "warnings" }, "Worth knowing"),
    h("ul", {}, warnings.map(({ code, detail }) => h("li", {}, h("span", {}, detail), " ", h("code", {}, code)))));
}

/** What is needed to get the same again. */
export function provenanceList(provenance, inputs) {
  const { versions = {}, timings = {}, seed, workers, plan = [] } = provenance ?? {};
  return h("section", { "aria-labelledby": "provenance" },
    h("h2", { id: "provenance" }, "How it was made"),
    arraysTable(inputs),
    facts([
      ["Seed", String(seed)],
      ["Workers", String(workers)],
      ...Object.entries(timings).filter(([, seconds]) => Number.isFinite(seconds)).map(([name, seconds]) => [`Time to ${name}`, duration(seconds)]),
    ]),
    details("Versions and shards",
      facts(Object.entries(versions)),
      plan.length ? table("Shards", ["Measure", "Method", "Shards", "Worker time"], plan.map((entry) => [
        entry.measure, entry.method ?? "", String(entry.shards ?? ""), entry.workerSeconds === undefined ? "" : duration(entry.workerSeconds),
      ]), { numeric: [2, 3] }) : null));
}

/** A link to a file; with a key, whose header a plain link could not send, the page fetches it. */
export function download(address, name, text = name) {
  const link = h("a", { href: address, download: name, class: "file" }, text);
  link.addEventListener("click", async (event) => {
    if (!key()) return;
    event.preventDefault();
    const found = URL.createObjectURL(new Blob([await bytes(address)]));
    h("a", { href: found, download: name }).click();
    URL.revokeObjectURL(found);
  });
  return link;
}

/** Everything that can be taken away. */
export function downloads(job, artifacts) {
  const here = `/v1/jobs/${job}`;
  return h("section", { "aria-labelledby": "downloads" },
    h("h2", { id: "downloads" }, "To take away"),
    h("ul", { class: "files" },
      h("li", {}, download(`${here}/results`, `${job}.json`, "Results, JSON")),
      artifacts.map((name) => h("li", {}, h("span", {}, name),
        download(`${here}/artifacts/${name}.npy`, `${name}.npy`, "npy"),
        download(`${here}/artifacts/${name}.csv`, `${name}.csv`, "csv")))));
}
