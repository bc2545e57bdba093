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

/** Which rows took part, and how they were paired: the sentences of the command line. */
export function rowsSentence(inputs) {
  const said = inputs.x?.shape ? rowsOfTwo(inputs) : rowsOfEach(inputs);
  if (inputs.groups) said.push(`They fall into ${counted(inputs.groups.count, "group")}.`);
  return said.join(" ");
}

function rowsOfTwo(inputs) {
  const { n, align, x, y } = inputs;
  const lengths = [...new Set([x, y].map(({ shape }) => shape[0]))].sort((one, other) => one - other);
  const ranges = [...new Set([x, y].filter(({ rows }) => Number.isInteger(rows?.start)).map(({ rows }) => `${rows.start}:${rows.stop}`))];
  const said = [];
  if (align === "join") said.push(`${grouped(n)} rows were compared, joined by their identifiers.`);
  else if (lengths.every((length) => length === n)) said.push(`All ${grouped(n)} rows were compared, row i of x with row i of y${checked(inputs)}.`);
  else said.push(`${grouped(n)} of ${lengths.map(grouped).join(" and ")} rows were compared${ranges.length ? `, ${ranges.join(" with ")}` : ""}, in order${checked(inputs)}.`);
  for (const what of ["rows", "columns"]) {
    const out = Object.entries(inputs[`${what}Dropped`] ?? {}).filter(([, count]) => count > 0).map(([side, count]) => `${grouped(count)} ${what} of ${side}`);
    if (out.length) said.push(`Left out: ${out.join(" and ")}.`);
  }
  if (x.fingerprint && x.fingerprint === y.fingerprint) said.push("x and y hold the same values, bit for bit.");
  return said;
}

function rowsOfEach(inputs) {
  const paired = inputs.align === "join" ? "joined by their identifiers" : `in order${checked(inputs)}`;
  const said = [`${grouped(inputs.n)} rows of each were compared, ${paired}.`];
  for (const what of ["rows", "columns"]) {
    const most = Math.max(0, ...Object.values(inputs[`${what}Dropped`] ?? {}));
    if (most > 0) said.push(`Left out: at most ${grouped(most)} ${what} of one array.`);
  }
  return said;
}

function checked({ align }) {
  return align === "check" ? "; their identifiers were checked and are equal" : "";
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
      h("li", {}, h("span", {}, "Report"), download(`${here}/report.html`, `ordsim-${job}.html`, "HTML, one page with drawings")),
      h("li", {}, h("span", {}, "Results"),
        download(`${here}/report.csv`, `ordsim-${job}.csv`, "Results, CSV"),
        download(`${here}/results`, `${job}.json`, "Results, JSON")),
      artifacts.map((name) => h("li", {}, h("span", {}, name),
        download(`${here}/artifacts/${name}.npy`, `${name}.npy`, "npy"),
        download(`${here}/artifacts/${name}.csv`, `${name}.csv`, "csv")))));
}
