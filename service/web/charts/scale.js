// A score between what unrelated arrays would score and the most that is possible, its intervals below it.

import { score as shown, span } from "../numerals.js";
import { axis, canvas, figure, label, linear } from "./figure.js";
import { s } from "../dom.js";

const LINE = 30;

/**
 * Draw a score on its scale.
 *
 * `marks` is { score, deficit, baseline, maximum }, the last two null where they are not known;
 * `intervals` a list of { name, low, high, rigorous }.
 */
export function scoreScale(marks, intervals) {
  const ends = intervals.flatMap(({ low, high }) => [low, high]);
  const from = Math.min(marks.baseline ?? 0, marks.score, ...ends);
  const to = Math.max(marks.maximum ?? 1, marks.score, ...ends);
  const known = marks.baseline === null ? "" : `, between a baseline of ${shown(marks.baseline)} and at most ${shown(marks.maximum)}`;
  const bounds = intervals.map(({ name, low, high }) => `; ${name} ${span(low, high)}`).join("");
  return figure(`Score ${shown(marks.score, marks.deficit)}${known}${bounds}`, (width) => {
    const wide = width > 560;
    const left = wide && intervals.length ? 150 : 8;
    const place = linear([from, to], [left, width - 10]);
    const row = wide ? LINE : LINE + 14;
    const first = 64;
    const bottom = first + 12 + intervals.length * row;
    return canvas(width, bottom + 26,
      guides(place, marks, bottom),
      track(place, marks, [from, to], width),
      intervals.map((interval, index) => bar(place, interval, first + index * row + (wide ? 12 : 24), wide, left)),
      axis(place, [from, to], bottom, width, Math.max(2, Math.floor((width - left) / 110))));
  });
}

function guides(place, marks, bottom) {
  return s("g", { class: "guides" },
    [marks.baseline, marks.maximum].filter((value) => value !== null).map((value) => (
      s("line", { x1: place(value), x2: place(value), y1: 44, y2: bottom }))),
    s("line", { class: "strong", x1: place(marks.score), x2: place(marks.score), y1: 44, y2: bottom }));
}

function track(place, marks, [from, to], width) {
  const base = marks.baseline ?? from;
  const parts = [
    s("rect", { class: "track", x: place(from), y: 40, width: Math.max(0, place(to) - place(from)), height: 8, rx: 4 }),
    s("rect", {
      class: "reached", y: 40, height: 8, rx: 4,
      x: Math.min(place(base), place(marks.score)), width: Math.abs(place(marks.score) - place(base)),
    }),
    s("circle", { class: "dot", cx: place(marks.score), cy: 44, r: 8 }),
  ];
  if (marks.baseline !== null) {
    const near = Math.abs(place(marks.maximum) - place(marks.baseline)) < 190;
    parts.push(
      label(near ? "baseline" : `baseline ${marks.baseline.toFixed(3)}`, Math.max(0, place(marks.baseline) - 4), 24, { anchor: "start" }),
      label(near ? "most" : `most possible ${marks.maximum.toFixed(3)}`, Math.min(width, place(marks.maximum) + 4), 24, { anchor: "end" }));
  }
  return s("g", {}, ...parts);
}

function bar(place, { name, low, high, rigorous }, y, wide, left) {
  const start = place(low);
  const length = Math.max(2, place(high) - start);
  return s("g", { class: rigorous === false ? "interval loose" : "interval" },
    wide
      ? label(name, left - 16, y + 4, { anchor: "end", kind: "name" })
      : label(name, 4, y - 10, { anchor: "start", kind: "name" }),
    s("rect", { x: start, y: y - 4, width: length, height: 8, rx: 2 }),
    s("title", {}, `${name}: ${span(low, high)}`));
}
