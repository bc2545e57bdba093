// A grid of scores as colours, in nine steps whose contrast with their figures is known.

import { canvas, figure, label, shortened } from "./figure.js";
import { h, s } from "../dom.js";

const STEPS = 9;
const LETTER = 6.6;
/** How far a turned letter reaches up, and to the right. */
const RISE = LETTER * 0.71;
const TITLE = 22;

/**
 * Draw a grid.
 *
 * `rows` and `columns` are names, `values` rows of numbers or null, `best` a { x, y } to ring,
 * `titles` a { rows, columns } of what each axis is, each [name, folder] of its arrays,
 * `read(row, column)` says in words what a cell holds.
 */
export function heatmap(title, { rows, columns, values, best = null, titles = null, read }) {
  const known = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = (value) => (high > low ? Math.min(STEPS - 1, Math.floor(((value - low) / (high - low)) * STEPS)) : STEPS - 1);
  const readout = h("p", { class: "readout" }, "Point at a cell to read it.");
  const show = (event) => {
    const { row, column } = event.target.dataset ?? {};
    if (row !== undefined) readout.textContent = read(Number(row), Number(column));
  };
  const drawn = figure(title, (width) => grid(layout(width, rows, columns, titles), { rows, columns, values, best, titles, step }));
  drawn.addEventListener("pointerover", show);
  return h("div", { class: "heatmap" }, drawn, readout, legend(low, high));
}

const longest = (names) => Math.max(...names.map((name) => name.length));

/** Where cells lie in a drawing so wide, and how many letters names may have. Turned names need room on the right. */
function layout(width, rows, columns, titles) {
  const before = titles ? TITLE : 0;
  const letters = Math.min(26, longest(rows), Math.floor(width / 3 / LETTER));
  const topLetters = Math.min(22, longest(columns), Math.max(6, Math.floor(width / 4 / LETTER)));
  const left = before + Math.ceil(letters * LETTER) + 10;
  const across = (room) => Math.max(3, Math.min(84, room / columns.length));
  const turned = topLetters * LETTER > across(width - left - 6) - 6;
  const right = turned ? Math.ceil(shortened(columns.at(-1), topLetters).length * RISE) : 6;
  const cell = across(width - left - right);
  const top = before + (turned ? Math.ceil(topLetters * RISE) + 14 : 22);
  return { width, left, right, top, cell, tall: Math.min(cell, 50), letters, topLetters, turned };
}

function grid(place, { rows, columns, values, best, titles, step }) {
  const { left, right, top, cell, tall, letters, topLetters, turned } = place;
  return canvas(Math.max(place.width, left + columns.length * cell + right), top + rows.length * tall + 6,
    cells(place, values, step),
    tall >= 11 && rows.map((name, row) => label(shortened(name, letters), left - 8, top + row * tall + tall / 2 + 4, { anchor: "end", kind: "name" })),
    cell >= 11 && columns.map((name, column) => columnName(shortened(name, topLetters), left + column * cell + cell / 2, top - 8, turned)),
    titles && axisTitles(titles, place, rows.length * tall),
    best && s("rect", {
      class: "best", x: left + best.y * cell + 0.5, y: top + best.x * tall + 0.5, width: Math.max(2, cell - 2), height: Math.max(2, tall - 2), rx: 2,
    }));
}

function cells({ left, top, cell, tall }, values, step) {
  const drawn = [];
  values.forEach((line, row) => line.forEach((value, column) => {
    const [x, y] = [left + column * cell, top + row * tall];
    const shade = value === null ? "none" : `step-${step(value)}`;
    drawn.push(s("rect", {
      class: shade, x, y, width: Math.max(1, cell - 1), height: Math.max(1, tall - 1), "data-row": row, "data-column": column,
    }));
    if (value !== null && cell >= 38) {
      drawn.push(s("text", { class: `${shade} figure`, x: x + cell / 2, y: y + tall / 2 + 4, "text-anchor": "middle" }, value.toFixed(cell >= 46 ? 3 : 2)));
    }
  }));
  return s("g", {}, drawn);
}

/** What stands in rows, beside them, and what in columns, above them; as much as there is room for. */
function axisTitles({ rows, columns }, { width, left, top }, height) {
  const middle = top + height / 2;
  return s("g", { class: "titles" },
    s("text", { class: "title", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, axisTitle(rows, height)),
    s("text", { class: "title", x: left, y: 12 }, axisTitle(columns, width - left)));
}

function axisTitle([name, folder], room) {
  const letters = Math.floor(room / LETTER) - name.length - 2;
  return folder && letters > 3 ? `${name}: ${shortened(folder, letters)}` : name;
}

function columnName(text, x, y, turned) {
  return turned
    ? s("text", { class: "name", x, y, transform: `rotate(-45 ${x} ${y})` }, text)
    : s("text", { class: "name", x, y, "text-anchor": "middle" }, text);
}

function legend(low, high) {
  const drawing = canvas(9 * 18, 10, Array.from({ length: STEPS }, (_, place) => (
    s("rect", { class: `step-${place}`, x: place * 18, y: 0, width: 18, height: 10 }))));
  drawing.setAttribute("aria-hidden", "true");
  return h("p", { class: "legend" }, h("span", {}, low.toFixed(3)), drawing, h("span", {}, high.toFixed(3)));
}
