// Reports of many arrays: layers of two models, or several models with one another.

import { heatmap } from "../charts/heatmap.js";
import { differencesChart } from "../charts/shares.js";
import { details, facts, h, table } from "../dom.js";
import { pValue as shownP, span } from "../numerals.js";
import { measureShort, named, optionName, parted } from "../words.js";
import { calibrationSection } from "./calibration.js";

/** Of which folder, if all are of one. */
const from = (folder) => (folder ? ` of ${folder}` : "");
const SIDES = "x below, y across";
const AGGREGATES = {
  max: "The best pair", mean: "The mean of all pairs",
  "row-max-mean": "The best of y for each of x, on average", "column-max-mean": "The best of x for each of y, on average",
};

function nullOf(results, address) {
  const name = results.artifacts.find((artifact) => artifact.endsWith("-null"));
  return name ? `${address}/${name}.npy` : null;
}

function options(results) {
  return details("Options", facts(Object.entries(results.spec).map(([name, value]) => [optionName(name), typeof value === "boolean" ? (value ? "yes" : "no") : String(value)])));
}

/** The report of a layers job. */
export function layersSections(results, address, signal) {
  const [[ofX, x], [ofY, y]] = [results.inputs.x.layers, results.inputs.y.layers].map((layers) => parted(layers.map(named)));
  const { matrix, best, perPair, aggregate, calibration } = results;
  const pValue = (row, column) => (perPair ? `, p ${shownP(perPair[row][column].pValue)}, not corrected` : "");
  return [h("article", { class: "measure", "aria-labelledby": "grid" },
    h("h2", { id: "grid" }, "Layer by layer ", h("small", {}, measureShort(results.spec))),
    aggregate.score === null
      ? h("p", { class: "reason" }, h("strong", {}, "No score: "), results.reason ?? "no reason was given")
      : h("p", { class: "headline" }, h("span", { class: "numeral" }, aggregate.score.toFixed(6)), h("span", { class: "unit" }, AGGREGATES[aggregate.kind] ?? aggregate.kind)),
    best ? h("p", { class: "prose" }, `The best pair is ${ofX}${x[best.x]} of x with ${ofY}${y[best.y]} of y, at ${best.score.toFixed(4)}.`) : null,
    matrix ? [
      heatmap(`Scores of ${x.length} layers${from(ofX)} as x, in rows, with ${y.length}${from(ofY)} as y, in columns${best ? `; the best pair is ${x[best.x]} of x with ${y[best.y]} of y` : ""}`, {
        rows: x, columns: y, values: matrix, best, titles: { rows: ["x", ofX], columns: ["y", ofY] },
        read: (row, column) => `${x[row]} of x with ${y[column]} of y: ${matrix[row][column].toFixed(6)}${pValue(row, column)}`,
      }),
      details("The scores as a table", gridTable("Scores", x, y, matrix, (value) => value.toFixed(6), SIDES)),
      perPair ? details("Calibrated scores and p-values of single pairs",
        h("p", {}, "Not corrected for there being many pairs: the best of them looks good by chance."),
        gridTable("Calibrated score (p-value)", x, y, perPair, (pair) => `${pair.score.toFixed(4)} (${shownP(pair.pValue)})`, SIDES)) : null,
    ] : null,
    calibrationSection(calibration, nullOf(results, address), signal),
    options(results))];
}

/** The report of a matrix job, its arrays in dendrogram order. */
export function matrixSections(results, address, signal) {
  const [of, names] = parted(results.labels);
  const order = results.order;
  const ordered = order.map((place) => names[place]);
  const arranged = (grid) => order.map((row) => order.map((column) => grid[row][column]));
  const scores = arranged(results.scores);
  const [low, high, adjusted] = ["low", "high", "adjusted"].map((name) => results[name] && arranged(results[name]));
  const pValue = (row, column) => (adjusted && adjusted[row][column] !== null ? `, adjusted p ${shownP(adjusted[row][column])}` : "");
  return [h("article", { class: "measure", "aria-labelledby": "grid" },
    h("h2", { id: "grid" }, "Model by model ", h("small", {}, measureShort(results.spec))),
    h("p", { class: "prose" }, `${names.length} arrays${from(of)} in dendrogram order: those that are alike stand side by side.`),
    heatmap(`Scores of ${names.length} arrays${from(of)} with one another, in dendrogram order: ${ordered.join(", ")}`, {
      rows: ordered, columns: ordered, values: scores.map((line, row) => line.map((value, column) => (row === column ? null : value))),
      read: (row, column) => (row === column ? `${ordered[row]} with itself` : `${ordered[row]} with ${ordered[column]}: ${scores[row][column].toFixed(6)}, ${span(low[row][column], high[row][column])}${pValue(row, column)}`),
    }),
    details("The scores as a table", gridTable("Scores", ordered, ordered, scores, (value) => value.toFixed(6))),
    details("Intervals of pairs", gridTable("Intervals", ordered, ordered, scores, (_, row, column) => span(low[row][column], high[row][column]))),
    ["adjusted", "holm", "pValues"].filter((name) => results[name]).map((name) => details(
      { adjusted: "p-values, adjusted for the number of pairs", holm: "The same after Holm", pValues: "p-values of single pairs, not adjusted" }[name],
      gridTable("p-values", ordered, ordered, arranged(results[name]), (value) => (value === null ? "" : shownP(value))))),
    differences(results, names),
    calibrationSection(results.calibration, nullOf(results, address), signal),
    options(results))];
}

function differences(results, names) {
  if (!results.differences?.length) return null;
  const { x, reference } = results.differences[0];
  const bounds = ({ jackknife, sampling }) => [jackknife, sampling].filter(Boolean);
  const ordered = [...results.differences].sort((one, other) => other.difference - one.difference);
  return h("div", { class: "part" },
    h("h3", {}, "Differences"),
    h("p", { class: "prose" }, `How much more alike ${names[x]} is to each array than to ${names[reference]}.`),
    differencesChart(ordered.map((one) => `${names[one.array]} ${one.difference.toFixed(4)}`).join(", "), ordered.map((one) => ({
      name: names[one.array], value: one.difference, bounds: bounds(one),
    }))),
    table("Differences", ["Array", "Difference", "Of these rows", "Of the population, not rigorous", "p-value"], ordered.map((one) => [
      names[one.array], one.difference.toFixed(6), span(one.sampling.low, one.sampling.high),
      one.jackknife ? span(one.jackknife.low, one.jackknife.high) : one.reason ?? "", one.pValue === null ? "" : shownP(one.pValue),
    ]), { numeric: [1, 2, 3, 4] }));
}

function gridTable(caption, rows, columns, cells, shown, corner = "") {
  return table(caption, [corner, ...columns], rows.map((name, row) => [name, ...cells[row].map((cell, column) => shown(cell, row, column))]),
    { numeric: columns.map((_, column) => column + 1) });
}
