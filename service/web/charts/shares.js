// Parts of a whole as one bar, and differences as intervals around zero.

import { axis, canvas, figure, label, linear, shortened } from "./figure.js";
import { s } from "../dom.js";

/** Draw `parts`, a list of { name, share, kind }. */
export function sharesBar(title, parts) {
  return figure(title, (width) => {
    let at = 0;
    return canvas(width, 18, parts.filter(({ share }) => share > 0).map(({ name, share, kind }) => {
      const part = s("rect", { class: `part ${kind}`, x: at, y: 0, width: Math.max(1, share * width - 1), height: 18 }, s("title", {}, name));
      at += share * width;
      return part;
    }));
  });
}

/** Draw `differences`, a list of { name, value, bounds: [{ low, high, rigorous }] }, around zero. */
export function differencesChart(title, differences) {
  const ends = differences.flatMap(({ value, bounds }) => [value, ...bounds.flatMap(({ low, high }) => [low, high])]);
  const [from, to] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const margin = (to - from) * 0.04 || 0.01;
  const domain = [from - margin, to + margin];
  return figure(title, (width) => {
    const left = Math.min(190, Math.floor(width * 0.36));
    const place = linear(domain, [left, width - 8]);
    const bottom = 12 + differences.length * 34;
    return canvas(width, bottom + 26,
      s("line", { class: "guide", x1: place(0), x2: place(0), y1: 4, y2: bottom }),
      differences.map(({ name, value, bounds }, index) => {
        const y = 26 + index * 34;
        return s("g", {},
          label(shortened(name, Math.floor(left / 7)), left - 12, y + 4, { anchor: "end", kind: "name" }),
          bounds.map(({ low, high, rigorous }) => s("g", { class: rigorous ? "interval" : "interval loose" },
            s("rect", { x: place(low), y: y - 4, width: Math.max(2, place(high) - place(low)), height: 8, rx: 2 }))),
          s("circle", { class: "dot", cx: place(value), cy: y, r: 5 }));
      }),
      axis(place, domain, bottom, width, Math.max(2, Math.floor((width - left) / 100))));
  });
}
