// Roots, and the arrays below them, from which x and y are picked.

import { choose, chosen } from "../chosen.js";
import { fill, h, unique } from "../dom.js";
import { grouped } from "../numerals.js";
import { get } from "../service.js";
import { named } from "../words.js";

const MOST = 1000;
const HEADINGS = [["Array"], ["Use as"], ["Shape"], ["Values"], ["Chunks", "extra"], ["zarr", "extra"]];

/** The arrays of a root; `query` holds a prefix. */
export function dataView({ id, query, go, signal }) {
  const place = h("div", {}, h("p", { class: "later" }, "Looking at the roots …"));
  const tray = trayPart();
  load(place, tray, { id, query, go, signal });
  return { title: "Data", content: [h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "Data")), place, tray.element] };
}

async function load(place, tray, { id, query, go, signal }) {
  try {
    const { roots } = await get("/v1/roots", signal);
    if (!roots.length) {
      fill(place, h("p", { class: "empty" }, "No data roots are configured. Start the service with --root NAME=DIRECTORY."));
      return;
    }
    const root = id ?? roots[0].name;
    const prefix = query.get("prefix") ?? "";
    const list = h("div", {}, h("p", { class: "later" }, "Listing arrays …"));
    fill(place, rootLinks(roots, root), prefixForm(root, prefix, go), pathLinks(root, prefix), list);
    const { arrays } = await get(`/v1/roots/${encodeURIComponent(root)}/arrays?prefix=${encodeURIComponent(prefix)}`, signal);
    fill(list, folderLinks(root, prefix, arrays), arraysList(root, arrays, tray));
  } catch (error) {
    if (!signal.aborted) (place.querySelector(".later") ?? place).replaceWith(h("p", { class: "empty" }, error.message));
  }
}

function rootLinks(roots, current) {
  return h("nav", { class: "tabs", "aria-label": "Roots" }, roots.map(({ name }) => (
    h("a", { href: `#/data/${encodeURIComponent(name)}`, "aria-current": name === current ? "page" : null }, name))));
}

function prefixForm(root, prefix, go) {
  const name = unique("prefix");
  const input = h("input", { type: "text", id: name, value: prefix, placeholder: "a folder", autocomplete: "off", spellcheck: "false" });
  return h("form", { class: "filters", role: "search", onsubmit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    go(below(root, text));
  } }, h("div", { class: "field" }, h("label", { for: name }, "Folder"), input), h("button", { type: "submit" }, "Show"));
}

const below = (root, prefix) => `#/data/${encodeURIComponent(root)}${prefix ? `?prefix=${encodeURIComponent(prefix)}` : ""}`;

/** The folders that lead to where the list is. */
function pathLinks(root, prefix) {
  const parts = prefix.split("/").filter(Boolean);
  if (!parts.length) return null;
  return h("nav", { "aria-label": "Path" }, h("ol", { class: "path" }, [root, ...parts].map((name, depth) => (
    h("li", {}, h("a", { href: below(root, parts.slice(0, depth).join("/")), "aria-current": depth === parts.length ? "location" : null }, name))))));
}

/** The folders next below, and how many of the listed arrays each has. */
function folderLinks(root, prefix, arrays) {
  const base = prefix.split("/").filter(Boolean).map((part) => `${part}/`).join("");
  const counts = new Map();
  for (const { path } of arrays) {
    const end = path.startsWith(base) ? path.indexOf("/", base.length) : -1;
    if (end > 0) counts.set(path.slice(0, end), (counts.get(path.slice(0, end)) ?? 0) + 1);
  }
  if (!counts.size) return null;
  return h("nav", { "aria-label": "Folders" }, h("ul", { class: "folders" }, [...counts].map(([path, count]) => (
    h("li", {}, h("a", { href: below(root, path) }, `${path.slice(base.length)}/ `, h("small", {}, grouped(count))))))));
}

function arraysList(root, arrays, tray) {
  if (!arrays.length) return h("p", { class: "empty" }, "There are no arrays here.");
  const pick = (side, { path }) => {
    const button = h("button", {
      type: "button", class: "pick", "aria-label": `Use ${path} as ${side}`, onclick: () => tray.set(side, { root, path }),
    }, side);
    tray.mark(button, side, { root, path });
    return button;
  };
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Arrays" }, h("table", { class: "arrays-list" },
      h("caption", { class: "unseen" }, `Arrays of ${root}`),
      h("thead", {}, h("tr", {}, HEADINGS.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
      h("tbody", {}, arrays.map((array) => h("tr", {},
        h("th", { scope: "row" }, array.path),
        h("td", {}, array.shape.length === 2 ? h("span", { class: "picks" }, pick("x", array), pick("y", array)) : h("span", { class: "hint" }, "labels, ids")),
        h("td", { class: "whole" }, array.shape.map(grouped).join(" × ")),
        h("td", {}, array.dtype),
        h("td", { class: "whole extra" }, array.chunks.map(grouped).join(" × ")),
        h("td", { class: "extra" }, `v${array.zarrFormat}`)))))),
    arrays.length >= MOST ? h("p", { class: "hint" }, `The first ${grouped(MOST)}; a folder narrows the list.`) : null,
  ];
}

/** What was picked so far, and the way to the form. */
function trayPart() {
  const said = h("p", {});
  const element = h("aside", { class: "tray", "aria-label": "Picked", "aria-live": "polite" }, said,
    h("a", { href: "#/new", class: "button primary" }, "Compare"));
  const marks = [];
  const press = ({ button, side, array }) => {
    const picked = chosen()[side];
    button.setAttribute("aria-pressed", String(picked?.root === array.root && picked?.path === array.path));
  };
  const mark = (button, side, array) => {
    marks.push({ button, side, array });
    press(marks.at(-1));
  };
  const show = () => {
    marks.forEach(press);
    const { x, y } = chosen();
    const [one, other] = [x, y].map((side) => (side?.path ? named(side) : null));
    element.hidden = !one && !other;
    fill(said, h("span", {}, h("b", {}, "x "), one ?? "–"), h("span", {}, h("b", {}, "y "), other ?? "–"));
  };
  const set = (side, array) => {
    const before = chosen();
    const kept = before.process === undefined || before.process === "compare" ? before : {};
    choose({ ...kept, process: "compare", [side]: { ...array, ...(kept[side]?.distance ? { distance: kept[side].distance } : {}) } });
    show();
  };
  show();
  return { element, set, mark };
}
