// The report of a job that has finished.

import { h, table } from "../dom.js";
import { deficit, pValue, score } from "../numerals.js";
import { measureShort } from "../words.js";
import { layersSections, matrixSections } from "./grid.js";
import { measureSection } from "./measure.js";
import { downloads, provenanceList, rowsSentence, warningsList } from "./parts.js";

/** Lay out results; `job` is the status they belong to. Drawings that need artifacts come when those have arrived. */
export function report(job, results, signal) {
  const address = `/v1/jobs/${job.jobID}/artifacts`;
  return h("div", { class: "report" },
    h("p", { class: "lede" }, rowsSentence(results.inputs)),
    warningsList(results.warnings),
    glance(results),
    sections(results, address, signal),
    downloads(job.jobID, artifacts(results)),
    provenanceList(results.provenance, inputs(results)));
}

function sections(results, address, signal) {
  if (results.process === "layers") return layersSections(results, address, signal);
  if (results.process === "matrix") return matrixSections(results, address, signal);
  const about = { address };
  return results.results.map((result, position) => measureSection(result, position, about, signal));
}

/** All scores of a comparison side by side, where there are several. */
function glance({ results }) {
  if (!results || results.length < 2) return null;
  const calibrated = results.some((result) => result.calibration);
  const leads = (position) => h("button", { type: "button", class: "link", onclick: () => {
    const heading = document.getElementById(`measure-${position}`);
    heading.setAttribute("tabindex", "-1");
    heading.scrollIntoView();
    heading.focus({ preventScroll: true });
  } }, measureShort(results[position]));
  return h("section", { "aria-labelledby": "glance" },
    h("h2", { id: "glance" }, "At a glance"),
    table("All scores", ["Measure", "Score", "Deficit", ...(calibrated ? ["p-value"] : [])], results.map((result, position) => [
      leads(position),
      result.score === null ? "undefined" : score(result.score, result.deficit),
      result.deficit === null ? "" : deficit(result.deficit),
      ...(calibrated ? [result.calibration?.pValue == null ? "" : pValue(result.calibration.pValue)] : []),
    ]), { numeric: [1, 2, 3] }));
}

function artifacts(results) {
  return results.artifacts ?? results.results.flatMap((result) => result.artifacts);
}

function inputs(results) {
  const numbered = (side, list) => list.map((input, place) => [`${side}${place}`, input]);
  if (results.process === "layers") return [...numbered("x", results.inputs.x.layers), ...numbered("y", results.inputs.y.layers)];
  if (results.process === "matrix") return numbered("", results.inputs.arrays);
  return [["x", results.inputs.x], ["y", results.inputs.y]];
}
