// The TSI of single rows: how it is spread, and which rows are seen most differently.

import { histogram } from "../charts/histogram.js";
import { fill, h, table } from "../dom.js";
import { grouped, score as shownScore } from "../numerals.js";
import { readNpy } from "../npy.js";
import { bytes } from "../service.js";

const LEAST = 10;

/**
 * The section of one measure's anchors; `values`, `rows` and `ids` are artifacts, `rows` null where all rows stand in
 * order, `ids` null where they have no identifiers.
 */
export function anchorsSection(about, signal) {
  const place = h("div", { class: "later" }, "Fetching the scores of single rows …");
  show(place, about, signal);
  return h("div", { class: "part" }, h("h3", {}, "Row by row"), place);
}

async function show(place, { address, values, rows, ids, score }, signal) {
  try {
    const fetched = async (name) => readNpy(await bytes(`${address}/${name}.npy`, signal));
    const scores = await fetched(values);
    const nameOf = naming(rows ? await fetched(rows) : null, scores.length);
    const identifiers = ids ? await fetched(ids) : null;
    const cells = (value, place) => [...(identifiers ? [String(identifiers[place])] : []), nameOf(place), shownScore(value, 1 - value)];
    const least = scores.map((value, place) => [value, place]).filter(([value]) => Number.isFinite(value))
      .sort(([one], [other]) => one - other).slice(0, LEAST);
    fill(place,
      histogram(
        `Scores of ${grouped(scores.length)} anchors, from ${least[0][0].toFixed(4)} up`,
        scores.filter(Number.isFinite), [{ name: `all ${score.toFixed(3)}`, value: score, kind: "observed" }],
        `The TSI of each of ${grouped(scores.length)} anchors.`),
      h("div", { class: "narrow" }, h("h4", {}, "Seen most differently in x and y"),
        table("The least aligned rows", [...(identifiers ? ["Identifier"] : []), "Row", "TSI"],
          least.map(([value, place]) => cells(value, place)), { numeric: [identifiers ? 2 : 1] })));
  } catch (error) {
    if (error.name !== "AbortError") fill(place, h("p", { class: "reason" }, `The scores of single rows cannot be shown: ${error.message}`));
  }
}

/** What a row is called: by its stored number, or by two where they differ between x and y. */
function naming(stored, count) {
  if (stored === null) return (place) => grouped(place);
  if (stored.length === count) return (place) => grouped(stored[place]);
  return (place) => `${grouped(stored[2 * place])} of x, ${grouped(stored[2 * place + 1])} of y`;
}
