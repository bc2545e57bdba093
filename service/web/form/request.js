// The whole form of one process, and the request that it says.

import { details, h } from "../dom.js";
import { arrayField, arraysField } from "./arrays.js";
import { field, fields, labelled, line, resolved } from "./fields.js";
import { measureField, measuresField } from "./measures.js";

/** Properties that have a place of their own in the form; all others stand under "More options". */
const PLACED = new Set([
  "process", "x", "y", "arrays", "measure", "measures", "calibration", "rows", "groups", "ids", "label", "tags", "differences", "aggregate",
]);
const DESIGNS = new Set(["sampled", "units"]);

/** Fields of a process: { element, read }. `read()` gives the body of a request. */
export function requestForm(process, shelf, initial = {}) {
  const { inputs, measures, limits } = process;
  const definitions = inputs.$defs ?? {};
  const parts = [arraysPart(process, shelf, initial), measuresPart(process.id, measures, limits, initial)];
  parts.push(calibrationPart(inputs, definitions, initial.calibration), rowsPart(shelf, inputs, initial), morePart(inputs, definitions, initial));
  return {
    element: h("div", { class: "request" }, parts.map(({ element }) => element)),
    read: () => Object.assign({ process: process.id }, ...parts.map((part) => part.read())),
  };
}

function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), ...children);
}

function arraysPart({ id, inputs }, shelf, initial) {
  const definitions = inputs.$defs ?? {};
  const distance = { schema: definitions.Array.properties.distance, definitions };
  const matrices = (array) => array.shape.length === 2;
  if (id === "compare") {
    const [x, y] = ["x", "y"].map((side) => arrayField(side, shelf, { initial: initial[side]?.path ? initial[side] : null, only: matrices, distance }));
    return { element: section("Arrays", x.element, y.element), read: () => ({ x: x.read("/x"), y: y.read("/y") }) };
  }
  if (id === "layers") {
    const [x, y] = ["x", "y"].map((side) => arraysField(`Layers of ${side}`, shelf, { initial: initial[side]?.layers ?? [], distance }));
    return {
      element: section("Layers", h("div", { class: "columns" }, x.element, y.element)),
      read: () => ({ x: { layers: x.read("/x/layers") }, y: { layers: y.read("/y/layers") } }),
    };
  }
  const arrays = arraysField("Arrays", shelf, { initial: initial.arrays ?? [], distance });
  return { element: section("Arrays", arrays.element), read: () => ({ arrays: arrays.read("/arrays") }) };
}

function measuresPart(id, catalogue, limits, initial) {
  if (id === "compare") {
    const measures = measuresField(catalogue, limits.measures, initial.measures);
    return { element: section("Measures", measures.element), read: () => ({ measures: measures.read("/measures") }) };
  }
  const allowed = id === "matrix" ? ({ measure, method }) => ["tsi", "qsi"].includes(measure) && DESIGNS.has(method) : undefined;
  const measure = measureField(catalogue, { initial: initial.measure ?? { measure: "tsi", method: "units", units: 4096 }, allowed });
  const more = id === "layers" ? aggregatePart(initial) : differencesPart(initial);
  return {
    element: section("Measure", measure.element, more.element),
    read: () => ({ measure: measure.read("/measure"), ...more.read() }),
  };
}

function aggregatePart(initial) {
  const kinds = {
    max: "the best pair", mean: "the mean of all pairs",
    "row-max-mean": "the best of y for each of x, on average", "column-max-mean": "the best of x for each of y, on average",
  };
  const select = h("select", {}, Object.entries(kinds).map(([value, text]) => h("option", { value, selected: value === (initial.aggregate ?? "max") }, text)));
  select.dataset.pointer = "/aggregate";
  return { element: labelled("Summed up as", select), read: () => ({ aggregate: select.value }) };
}

function differencesPart(initial) {
  const [x, reference] = ["x", "reference"].map((name) => h("input", {
    type: "text", inputmode: "numeric", autocomplete: "off", value: initial.differences ? String(initial.differences[name]) : "",
  }));
  x.dataset.pointer = "/differences/x";
  reference.dataset.pointer = "/differences/reference";
  const element = details("Differences of scores",
    h("p", { class: "hint" }, "How much more alike one array is to each other than to a reference. Arrays are numbered from 0, in the order above."),
    h("div", { class: "row" }, labelled("Array", x), labelled("Reference", reference)));
  element.open = Boolean(initial.differences);
  const read = () => {
    if (!x.value.trim() && !reference.value.trim()) return {};
    return { differences: { x: number(x.value), reference: number(reference.value) } };
  };
  return { element, read };
}

function calibrationPart(inputs, definitions, initial) {
  const made = field("calibration", inputs.properties.calibration, definitions, { initial, label: "Set the score against chance" });
  return {
    element: section("Calibration", made.element),
    read: () => {
      const value = made.read("/calibration");
      return value === undefined ? {} : { calibration: value };
    },
  };
}

function rowsPart(shelf, inputs, initial) {
  const lists = (array) => array.shape.length === 1;
  const [start, stop] = ["start", "stop"].map((name) => h("input", {
    type: "text", inputmode: "numeric", autocomplete: "off", value: initial.rows?.[name] === undefined ? "" : String(initial.rows[name]),
  }));
  start.dataset.pointer = "/rows/start";
  stop.dataset.pointer = "/rows/stop";
  const groups = arrayField("Groups", shelf, { initial: initial.groups, only: lists, hint: "One label per row: rows of one group are not independent evidence." });
  // Rows may be named by an array of their numbers where the service takes such a one.
  const index = inputs.$defs.Rows.properties.index
    ? arrayField("Row numbers", shelf, { initial: initial.rows?.index, only: lists, hint: "An array of row numbers, in place of a range." }) : null;
  const ids = inputs.properties.ids ? ["x", "y"].map((side) => arrayField(`Row identifiers of ${side}`, shelf, { initial: initial.ids?.[side], only: lists })) : [];
  const element = details("Rows, groups and identifiers",
    h("div", { class: "row" }, labelled("First row", start, "Counted from 0; both empty for all rows."), labelled("Stop before row", stop, "The first row that stays out.")),
    index?.element, groups.element, ids.map((one) => one.element));
  element.open = Boolean(initial.rows || initial.groups || initial.ids);
  const read = () => ({
    ...chosenRows(start, stop, index),
    ...(groups.empty() ? {} : { groups: groups.read("/groups") }),
    ...(ids.some((one) => !one.empty()) ? { ids: { x: ids[0].read("/ids/x"), y: ids[1].read("/ids/y") } } : {}),
  });
  return { element: element, read };
}

function chosenRows(start, stop, index) {
  const range = start.value.trim() || stop.value.trim() ? { start: number(start.value || "0"), stop: number(stop.value) } : {};
  const named = index && !index.empty() ? { index: index.read("/rows/index") } : {};
  const rows = { ...range, ...named };
  return Object.keys(rows).length ? { rows } : {};
}

function number(text) {
  const trimmed = text.trim();
  return trimmed && Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

function tagsOf(text) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  return Object.fromEntries(parts.map((part) => part.split(/:(.*)/s)).map(([key, value = ""]) => [key, value]));
}

function morePart(inputs, definitions, initial) {
  const label = line("Label", "What the list of jobs calls it.", initial.label ?? "");
  const tags = line("Tags", "Such as experiment:e12, with commas between several.", Object.entries(initial.tags ?? {}).map(([name, value]) => `${name}:${value}`).join(", "));
  const rest = fields(resolved(inputs, definitions), definitions, initial, [...PLACED]);
  const read = () => {
    const [name, marks] = [label.read("/label"), tags.read("/tags")];
    return {
      ...rest.read(""),
      ...(name ? { label: name } : {}),
      ...(marks ? { tags: tagsOf(marks) } : {}),
    };
  };
  return {
    element: h("div", {}, details("More options", h("div", { class: "fields" }, rest.elements)), section("Name", h("div", { class: "row" }, label.element, tags.element))),
    read,
  };
}
