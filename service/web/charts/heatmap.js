// A grid of scores as colours, in nine steps whose contrast with their figures is known.

import { canvas, figure, label, shortened } from "./figure.js";
import { h, s } from "../dom.js";

const STEPS = 9;
const LETTER = 6.6;

/**
 * Draw a grid.
 *
 * `rows` and `columns` are names, `values` rows of numbers or null, `best` a { x, y } to ring,
 * `read(row, column)` says in words what a cell holds.
 */
export function heatmap(title, { rows, columns, values, best = null, read }) {
  const known = values.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = (value) => (high > low ? Math.min(STEPS - 1, Math.floor(((value - low) / (high - low)) * STEPS)) : STEPS - 1);
  const readout = h("p", { class: "readout" }, "Point at a cell to read it.");
  const show = (event) => {
    const { row, column } = event.target.dataset ?? {};
    if (row !== undefined) readout.textContent = read(Number(row), Number(column));
  };
  const drawn = figure(title, (width) => grid(width, { rows, columns, values, best, step }));
  drawn.addEventListener("pointerover", show);
  return h("div", { class: "heatmap" }, drawn, readout, legend(low, high));
}

function grid(width, { rows, columns, values, best, step }) {
  const letters = Math.min(26, Math.max(...rows.map((name) => name.length)), Math.floor(width / 3 / LETTER));
  const left = Math.ceil(letters * LETTER) + 10;
  const cell = Math.max(3, Math.min(84, (width - left - 6) / columns.length));
  const tall = Math.min(cell, 50);
  const topLetters = Math.min(22, Math.max(...columns.map((name) => name.length)));
  const turned = topLetters * LETTER > cell - 6;
  const top = turned ? Math.ceil(topLetters * LETTER * 0.72) + 14 : 22;
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
  return canvas(Math.max(width, left + columns.length * cell), top + rows.length * tall + 6,
    s("g", {}, drawn),
    tall >= 11 && rows.map((name, row) => label(shortened(name, letters), left - 8, top + row * tall + tall / 2 + 4, { anchor: "end", kind: "name" })),
    cell >= 11 && columns.map((name, column) => columnName(shortened(name, topLetters), left + column * cell + cell / 2, top - 8, turned)),
    best && s("rect", {
      class: "best", x: left + best.y * cell + 0.5, y: top + best.x * tall + 0.5, width: Math.max(2, cell - 2), height: Math.max(2, tall - 2), rx: 2,
    }));
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
