// What one measure found: its score on a scale, what it means, and what it rests on.

import { floorsChart } from "../charts/floors.js";
import { scoreScale } from "../charts/scale.js";
import { sharesBar } from "../charts/shares.js";
import { details, facts, h, table } from "../dom.js";
import { deficit as shownDeficit, exponential, figure, grouped, percent, rounded, score as shownScore, span } from "../numerals.js";
import { INTERVALS, intervalWords, meaning, measureName, measureShort, optionName, spaced, titled } from "../words.js";
import { anchorsSection } from "./anchors.js";
import { calibrationSection } from "./calibration.js";

const KINDS = {
  concordant: "same order", discordant: "opposite order", tiedBoth: "tied in both", tiedX: "tied in x only", tiedY: "tied in y only",
};
const TOLD = new Set(["measure", "method", "confidence"]);

/** The section of a result; `about` is { address } of its job's artifacts. */
export function measureSection(result, position, about, signal) {
  const title = `measure-${position}`;
  return h("article", { class: "measure", "aria-labelledby": title },
    h("h2", { id: title }, measureName(result.measure), " ", h("small", {}, measureShort(result))),
    result.score === null
      ? h("p", { class: "reason" }, h("strong", {}, "No score: "), result.reason ?? "no reason was given")
      : scored(result),
    intervalsPart(result),
    calibrationSection(result.calibration, nullOf(result, about), signal),
    resolutionPart(result),
    countsPart(result),
    anchors(result, position, about, signal),
    optionsPart(result));
}

function scored(result) {
  const intervals = Object.entries(INTERVALS)
    .filter(([kind]) => result.intervals?.[kind] && result.intervals[kind].method !== "none-exact")
    .map(([kind, name]) => ({ name, ...result.intervals[kind] }));
  const said = meaning(result);
  return [
    h("p", { class: "headline" },
      h("span", { class: "numeral" }, shownScore(result.score, result.deficit)),
      result.deficit === null ? null : h("span", { class: "unit" }, `deficit ${shownDeficit(result.deficit)}`)),
    said ? h("p", { class: "prose" }, said) : null,
    // Where ties leave nothing possible beyond the baseline, there is no scale.
    result.baseline !== undefined && result.attainableMaximum - result.baseline < 1e-12 ? null : scoreScale({
      score: result.score, deficit: result.deficit,
      baseline: result.baseline ?? null, maximum: result.attainableMaximum ?? null,
    }, intervals),
  ];
}

function intervalsPart(result) {
  const rows = Object.entries(INTERVALS).filter(([kind]) => result.intervals?.[kind]).map(([kind, name]) => {
    const found = result.intervals[kind];
    return [name, found.method === "none-exact" ? shownScore(found.low, result.deficit) : span(found.low, found.high), intervalWords(kind, found)];
  });
  const reasons = Object.entries(result.intervals?.reasons ?? {}).map(([kind, reason]) => (
    h("p", { class: "reason" }, `No interval for ${INTERVALS[kind] ?? kind}: ${reason}`)));
  if (!rows.length) return reasons;
  return [...reasons, details("Intervals", table("Intervals", ["Of", "Score", "How it was found"], rows))];
}

function countsPart({ counts }) {
  if (!counts || counts.comparisons === "0") return null;
  const share = (kind) => Number(counts[kind]) / Number(counts.comparisons);
  const kinds = Object.entries(KINDS).filter(([kind]) => counts[kind] !== "0" || !kind.startsWith("tied"));
  const all = counts.comparisons === counts.population;
  return h("div", { class: "part" },
    h("h3", {}, "Comparisons"),
    h("p", {}, all
      ? `${grouped(counts.comparisons)}, all there are.`
      : `${grouped(counts.comparisons)}, of ${rounded(counts.population)} there are.`),
    sharesBar(kinds.map(([kind, name]) => `${name} ${percent(share(kind))}`).join(", "),
      kinds.map(([kind, name]) => ({ name: `${name}: ${grouped(counts[kind])}`, share: share(kind), kind }))),
    h("ul", { class: "keys" }, kinds.map(([kind, name]) => h("li", { class: `key ${kind}` }, `${name} `, h("b", {}, percent(share(kind)))))),
    details("Every count", table("Kinds of comparisons", ["Order in x and y", "Comparisons", "Share"], kinds.map(([kind, name]) => [
      name, grouped(counts[kind]), percent(share(kind)),
    ]), { numeric: [1, 2] })));
}

function resolutionPart({ resolution, deficit, naiveDeficit }) {
  if (!resolution || deficit === null) return null;
  const floors = [["rounding in the arithmetic", resolution.floorArithmetic], ["rounding for storage", resolution.floorStorage]]
    .filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => ({ name, value }));
  return h("div", { class: "part" },
    h("h3", {}, "What the deficit is worth"),
    h("p", { class: "headline" }, h("span", { class: "numeral" }, shownDeficit(deficit)), h("span", { class: `verdict ${resolution.verdict}` }, spaced(resolution.verdict))),
    h("p", { class: "prose" }, resolution.sentence),
    deficit > 0 || floors.some(({ value }) => value > 0) ? floorsChart(deficit, floors) : null,
    facts([
      ["By subtraction, 1 − score", naiveDeficit === undefined || naiveDeficit === null ? null : exponential(naiveDeficit, 3)],
      ["Like a random change of", resolution.etaEquivalent === null ? null : exponential(resolution.etaEquivalent)],
      ["Values are worth", effective(resolution.effectivePrecision)],
      ["No storage floor", resolution.storageReason],
    ].filter(([, value]) => value !== null && value !== undefined)));
}

function effective(precision) {
  if (!precision) return null;
  return precision.x === precision.y ? precision.x : `${precision.x} in x, ${precision.y} in y`;
}

function nullOf(result, { address }) {
  const name = result.artifacts.find((artifact) => artifact.endsWith("-null"));
  return name ? `${address}/${name}.npy` : null;
}

function anchors(result, position, { address }, signal) {
  const values = `${position}-per_anchor`;
  if (!result.artifacts.includes(values)) return null;
  const [rows, ids] = ["rows", "ids"].map((what) => result.artifacts.find((name) => name === `${position}-${what}`) ?? null);
  return anchorsSection({ address, values, rows, ids, score: result.score }, signal);
}

function optionsPart(result) {
  const options = Object.entries(result.spec ?? {}).filter(([name]) => !TOLD.has(name)).map(([name, value]) => [optionName(name), shown(value)]);
  const figures = Object.entries(result.figures ?? {}).map(([name, value]) => [titled(name), shown(value)]);
  const paths = Object.entries(result.precision?.paths ?? {}).map(([name, count]) => [`Distances: ${name}`, grouped(count)]);
  return details("Options and figures", facts([
    ...options,
    ["Confidence", shown(result.spec?.confidence)],
    ...(result.precision ? [["Precision", result.precision.used]] : []),
    ...paths, ...figures,
  ]));
}

function shown(value) {
  if (value === null || value === undefined) return "none";
  if (typeof value === "number") return figure(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length > 12 ? `${value.slice(0, 12).map(shown).join(", ")}, …` : value.map(shown).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, part]) => `${spaced(name)} ${shown(part)}`).join(", ");
  return String(value);
}
