// How often values occur, with marks to compare them with.

import { axis, canvas, figure, label, linear, shortened } from "./figure.js";
import { s } from "../dom.js";

const HEIGHT = 190;
const TOP = 44;

/** Count values into equally wide bins; as many as their spread suggests (Freedman and Diaconis). */
export function binned(values) {
  const sorted = Float64Array.from(values).sort();
  const [low, high] = [sorted[0], sorted[sorted.length - 1]];
  if (low === high) return { low, high, counts: [sorted.length] };
  const quarter = (part) => sorted[Math.floor(part * (sorted.length - 1))];
  const width = (2 * (quarter(0.75) - quarter(0.25))) / Math.cbrt(sorted.length);
  const wanted = width > 0 ? Math.ceil((high - low) / width) : 20;
  const bins = Math.min(60, Math.max(8, wanted));
  const counts = new Array(bins).fill(0);
  for (const value of sorted) counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))] += 1;
  return { low, high, counts };
}

/** Draw values; `marks` is a list of { name, value, kind }. `title` says what is seen. */
export function histogram(title, values, marks = [], caption = null) {
  const { low, high, counts } = binned(values);
  const from = Math.min(low, ...marks.map(({ value }) => value));
  const to = Math.max(high, ...marks.map(({ value }) => value));
  const margin = (to - from || Math.abs(from) || 1) * 0.02;
  const domain = [from - margin, to + margin];
  const most = Math.max(...counts);
  return figure(title, (width) => {
    const place = linear(domain, [6, width - 6]);
    const height = linear([0, most], [0, HEIGHT - TOP]);
    const step = (high - low) / counts.length;
    return canvas(width, HEIGHT + 26,
      s("g", { class: "bars" }, counts.map((count, index) => {
        const start = place(low + index * step);
        const length = step ? place(low + (index + 1) * step) - start : 4;
        return count ? s("rect", {
          x: start, y: HEIGHT - height(count), width: Math.max(1, length - (length > 4 ? 1 : 0)), height: height(count),
        }) : null;
      })),
      axis(place, domain, HEIGHT, width),
      pins(marks, place, width));
  }, caption);
}

/** Lines with names above them, laid on two heights so that neighbours stay readable. */
function pins(marks, place, width) {
  const sorted = [...marks].sort((one, other) => one.value - other.value);
  return sorted.map(({ name, value, kind }, index) => {
    const x = place(value);
    const text = shortened(name, Math.max(8, Math.floor(width / 8)));
    return s("g", { class: `pin ${kind}` },
      s("line", { x1: x, x2: x, y1: index % 2 ? 34 : 18, y2: HEIGHT }),
      label(text, x, index % 2 ? 28 : 12, { width, kind: "name" }));
  });
}
