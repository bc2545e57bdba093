// A deficit on an axis of powers of ten, beside what rounding alone can feign.

import { canvas, figure, label, logarithmic } from "./figure.js";
import { exponential } from "../numerals.js";
import { s } from "../dom.js";

const LINE = 40;

/** Draw `deficit`, and `floors` as a list of { name, value }: each a band of what could be nothing but rounding. */
export function floorsChart(deficit, floors) {
  const positive = [deficit, ...floors.map(({ value }) => value)].filter((value) => value > 0);
  const from = 10 ** (Math.floor(Math.log10(Math.min(...positive, 1e-3))) - 1);
  const to = 10 ** Math.max(0, Math.ceil(Math.log10(Math.max(...positive, 1e-3))));
  const words = [`Deficit ${exponential(deficit)}`, ...floors.map(({ name, value }) => `${name} ${exponential(value)}`)];
  return figure(words.join(", "), (width) => {
    const place = logarithmic([from, to], [10, width - 14]);
    const at = (value) => (value > 0 ? place(value) : 10);
    const bottom = 26 + (floors.length + 1) * LINE;
    return canvas(width, bottom + 26,
      s("line", { class: "guide", x1: at(deficit), x2: at(deficit), y1: 26, y2: bottom }),
      row("deficit", deficit, 26, at, width),
      s("circle", { class: "dot", cx: at(deficit), cy: 36, r: 7 }),
      floors.map(({ name, value }, index) => {
        const y = 26 + (index + 1) * LINE;
        return s("g", { class: "floor" },
          s("rect", { x: 10, y: y + 4, width: Math.max(2, at(value) - 10), height: 12, rx: 2 }),
          row(name, value, y, at, width));
      }),
      decades(place, from, to, bottom, width));
  });
}

function row(name, value, y, at, width) {
  const text = `${name} ${exponential(value)}`;
  const half = text.length * 3.5;
  return label(text, Math.min(width - half, Math.max(half + 10, at(value))), y - 2, { kind: "name" });
}

function decades(place, from, to, y, width) {
  const [first, last] = [Math.round(Math.log10(from)), Math.round(Math.log10(to))];
  const step = Math.max(1, Math.ceil((last - first) / Math.max(2, Math.floor(width / 70))));
  const shown = [];
  for (let power = last; power >= first; power -= step) shown.push(power);
  return s("g", { class: "axis" },
    s("line", { x1: place(from), x2: place(to), y1: y, y2: y }),
    shown.map((power) => [
      s("line", { x1: place(10 ** power), x2: place(10 ** power), y1: y, y2: y + 5 }),
      label(power === 0 ? "1" : `1e${power}`, place(10 ** power), y + 19, { width }),
    ]));
}
