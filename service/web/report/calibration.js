// How a score stands against permutations: the p-value, and all of the null.

import { histogram } from "../charts/histogram.js";
import { details, facts, fill, h, table } from "../dom.js";
import { grouped, pValue } from "../numerals.js";
import { readNpy } from "../npy.js";
import { bytes } from "../service.js";
import { calibrationWords } from "../words.js";

/** The section of one calibration; `artifact` is the address of its null, or null if there is none. */
export function calibrationSection(calibration, artifact, signal) {
  if (!calibration) return null;
  if (calibration.pValue === null) {
    return h("div", { class: "part" }, h("h3", {}, "Chance"), h("p", { class: "reason" }, `There is no p-value: ${calibration.reason ?? "no reason was given"}`));
  }
  const place = h("div", { class: "later" }, artifact ? "Fetching the null distribution …" : null);
  if (artifact) draw(place, calibration, artifact, signal);
  return h("div", { class: "part" },
    h("h3", {}, "Chance"),
    h("p", { class: "headline" }, h("span", { class: "numeral" }, pValue(calibration.pValue)), h("span", { class: "unit" }, "p-value")),
    h("p", { class: "prose" }, calibrationWords(calibration)),
    place,
    facts([
      [calibration.smax === null ? "Above the threshold by" : "Calibrated score", calibration.score.toFixed(4)],
      [`Threshold at level ${calibration.alpha}`, calibration.threshold.toFixed(4)],
      ["Observed statistic", calibration.observed.toFixed(6)],
      ["Chance, on average", `${calibration.nullMean.toFixed(4)}, deviation ${calibration.nullStd.toPrecision(2)}`],
    ]),
    details("Quantiles of the null, and the statistic",
      table("Quantiles of the null distribution", ["Share below", "Value"], Object.entries(calibration.nullQuantiles ?? {})
        .sort(([one], [other]) => Number(one) - Number(other)).map(([share, value]) => [share, value.toFixed(6)]), { numeric: [0, 1] }),
      facts(Object.entries(calibration.statistic ?? {}).map(([name, value]) => [name, typeof value === "number" ? grouped(value) : String(value)]))));
}

async function draw(place, calibration, artifact, signal) {
  try {
    const values = readNpy(await bytes(artifact, signal)).filter(Number.isFinite);
    const { observed, threshold } = calibration;
    fill(place, histogram(
      `Null distribution of ${grouped(values.length)} permutations, mean ${calibration.nullMean.toFixed(4)}; observed ${observed.toFixed(4)}, threshold ${threshold.toFixed(4)}`,
      values,
      [
        { name: `observed ${observed.toFixed(3)}`, value: observed, kind: "observed" },
        { name: `threshold ${threshold.toFixed(3)}`, value: threshold, kind: "threshold" },
      ],
      `What ${grouped(values.length)} permutations score.`,
    ));
  } catch (error) {
    if (error.name !== "AbortError") fill(place, h("p", { class: "reason" }, `The null distribution cannot be shown: ${error.message}`));
  }
}
