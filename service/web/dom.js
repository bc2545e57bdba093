// Elements made of code. Whatever comes from data arrives as text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "open", "required", "hidden", "max"]);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name) && element.namespaceURI !== SVG) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element: h("a", { href: "/" }, "Home"). Attributes that are null or false are left out; on… are listeners. */
export function h(name, attributes, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** The same in a drawing. */
export function s(name, attributes, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

/** Show `children` in place of what an element held. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A table with a caption, headings, and rows of cells; the first cell of a row heads it. Numbers stand to the right. */
export function table(caption, headings, rows, { seen = false, numeric = [] } = {}) {
  const side = (column) => (numeric.includes(column) ? "number" : null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: seen ? null : "unseen" }, caption),
      h("thead", {}, h("tr", {}, headings.map((text, column) => h("th", { scope: "col", class: side(column) }, text)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell, column) => (
        column === 0
          ? h("th", { scope: "row", class: side(column) }, cell)
          : h("td", { class: side(column) }, cell)
      )))))));
}

/** Something that is there for those who open it. */
export function details(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), ...children);
}

/** Labels and what they stand for. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

let named = 0;

/** A name for an element that others refer to. */
export function unique(prefix) {
  named += 1;
  return `${prefix}-${named}`;
}

/** Tell those who hear the page rather than see it. */
export function announce(text) {
  const place = document.getElementById("announcements");
  if (place && place.textContent !== text) place.textContent = text;
}
