// What all drawings share: scales, ticks, and a frame that draws again when its width changes.

import { h, s } from "../dom.js";

/** A drawing as wide as its place: `draw(width)` makes the SVG; `title` says in words what it shows. */
export function figure(title, draw, caption = null) {
  const place = h("div", { class: "drawing" });
  let drawn = 0;
  const redraw = () => {
    const width = Math.floor(place.clientWidth);
    if (width < 40 || width === drawn) return;
    drawn = width;
    const drawing = draw(width);
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", title);
    place.replaceChildren(drawing);
  };
  new ResizeObserver(redraw).observe(place);
  return h("figure", {}, place, caption && h("figcaption", {}, caption));
}

/** A line of `from` to `to` laid on pixels. */
export function linear([from, to], [start, end]) {
  const width = to - from || 1;
  return (value) => start + ((value - from) / width) * (end - start);
}

/** The same by powers of ten. */
export function logarithmic([from, to], range) {
  const place = linear([Math.log10(from), Math.log10(to)], range);
  return (value) => place(Math.log10(value));
}

/** Round values between two others, about as many as were asked for, and how many decimals tell them apart. */
export function ticks(from, to, wanted) {
  const raw = (to - from) / Math.max(1, wanted);
  if (!(raw > 0)) return { values: [from], decimals: 3 };
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((part) => part * power).find((candidate) => candidate >= raw * 0.999);
  const values = [];
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to + step * 1e-9; index += 1) values.push(index * step);
  return { values, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** An axis below a drawing, at height `y`. */
export function axis(place, [from, to], y, width, wanted = Math.max(2, Math.floor(width / 110))) {
  const { values, decimals } = ticks(from, to, wanted);
  return s("g", { class: "axis" },
    s("line", { x1: place(from), x2: place(to), y1: y, y2: y }),
    values.map((value) => [
      s("line", { x1: place(value), x2: place(value), y1: y, y2: y + 5 }),
      label(value.toFixed(decimals), place(value), y + 19, { width }),
    ]));
}

/** Text at a place, moved inside when it would be cut off. Widths of letters are estimated. */
export function label(text, x, y, { width, anchor = "middle", kind = "tick" }) {
  const half = text.length * (kind === "name" ? 3.9 : 3.5);
  let at = x;
  if (anchor === "middle" && width) at = Math.min(width - half, Math.max(half, x));
  return s("text", { x: at, y, "text-anchor": anchor, class: kind }, text);
}

/** A frame of so many pixels. */
export function canvas(width, height, ...children) {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...children);
}

/** As much of a text as fits, its end kept: names differ at their ends. */
export function shortened(text, letters) {
  return text.length <= letters ? text : `…${text.slice(1 - letters)}`;
}
