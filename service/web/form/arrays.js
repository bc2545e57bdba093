// Fields that name arrays: one, or many on lines.

import { h, unique } from "../dom.js";
import { grouped } from "../numerals.js";
import { get } from "../service.js";
import { labelled, resolved } from "./fields.js";

/** What a root holds, asked for once. */
export class Shelf {
  constructor(roots, signal) {
    this.roots = roots;
    this.signal = signal;
    this.found = new Map();
  }

  /** The arrays of a root; none where it cannot be read. */
  arrays(root, prefix = "") {
    const address = `/v1/roots/${encodeURIComponent(root)}/arrays${prefix ? `?prefix=${encodeURIComponent(prefix)}` : ""}`;
    if (!this.found.has(address)) this.found.set(address, get(address, this.signal).then(({ arrays }) => arrays, () => []));
    return this.found.get(address);
  }
}

/** root:path, taken apart; a line without a root is a path of the first root. */
export function reference(text, roots) {
  const at = text.indexOf(":");
  if (at > 0 && roots.includes(text.slice(0, at))) return { root: text.slice(0, at), path: text.slice(at + 1) };
  return { root: roots[0] ?? "", path: text };
}

/** A field for one array, written root:path; offers those that the roots hold. `only` says which are offered. */
export function arrayField(label, shelf, { initial = null, only = () => true, distance = null, hint = null } = {}) {
  const list = h("datalist", { id: unique("arrays") });
  const input = h("input", {
    type: "text", list: list.id, autocomplete: "off", spellcheck: "false", placeholder: `${shelf.roots[0] ?? "root"}:path`,
    value: initial ? `${initial.root}:${initial.path}` : "",
  });
  const shape = h("p", { class: "shape", "aria-live": "polite" });
  const known = new Map();
  const describe = () => { shape.textContent = known.get(input.value.trim()) ?? ""; };
  input.addEventListener("input", describe);
  Promise.all(shelf.roots.map(async (root) => (await shelf.arrays(root)).filter(only).forEach((array) => {
    const text = `${root}:${array.path}`;
    known.set(text, `${array.shape.map(grouped).join(" × ")} ${array.dtype}`);
    list.append(h("option", { value: text }, known.get(text)));
  }))).then(describe);
  const metric = distance ? distanceField(distance, initial?.distance) : null;
  const element = h("div", { class: "array" }, h("div", {}, labelled(label, input, hint), shape), metric?.element, list);
  return {
    element,
    empty: () => !input.value.trim(),
    read: (pointer) => {
      input.dataset.pointer = pointer;
      const named = reference(input.value.trim(), shelf.roots);
      const chosen = metric?.read(`${pointer}/distance`);
      // Rows of this array alone, which the form has no field for, stay with an array that stays.
      const same = initial?.rows && initial.root === named.root && initial.path === named.path;
      return { ...named, ...(chosen ? { distance: chosen } : {}), ...(same ? { rows: initial.rows } : {}) };
    },
  };
}

function distanceField({ schema, definitions }, initial) {
  const { enum: values, default: usual } = resolved(schema, definitions);
  const select = h("select", {}, values.map((value) => h("option", { value, selected: value === (initial ?? usual) }, value)));
  return {
    element: labelled("Distance", select),
    read: (pointer) => {
      select.dataset.pointer = pointer;
      return select.value === usual ? undefined : select.value;
    },
  };
}

/** A field for many arrays, one on a line, all with one distance; whole folders can be added at once. */
export function arraysField(label, shelf, { initial = [], distance }) {
  const area = h("textarea", { rows: 5, spellcheck: "false", placeholder: `${shelf.roots[0] ?? "root"}:path` },
    initial.map(({ root, path }) => `${root}:${path}`).join("\n"));
  const prefix = h("input", { type: "text", placeholder: `${shelf.roots[0] ?? "root"}:folder`, autocomplete: "off", spellcheck: "false" });
  const said = h("p", { class: "hint", role: "status" });
  const add = h("button", { type: "button", onclick: async () => {
    const { root, path } = reference(prefix.value.trim(), shelf.roots);
    const found = (await shelf.arrays(root, path)).filter((array) => array.shape.length === 2).map((array) => `${root}:${array.path}`)
      .sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
    const have = lines(area);
    const fresh = found.filter((text) => !have.includes(text));
    area.value = [...have, ...fresh].join("\n");
    said.textContent = fresh.length ? `${fresh.length} added.` : "Nothing to add below this folder.";
    area.dispatchEvent(new Event("input", { bubbles: true }));
  } }, "Add all below");
  const metric = distanceField(distance, initial[0]?.distance);
  const first = metric.read("");
  const given = new Map(initial.map((array) => [`${array.root}:${array.path}`, array]));
  return {
    element: h("div", { class: "arrays" },
      labelled(label, area, "One array on a line, as root:path."),
      h("div", { class: "row" }, labelled("Folder", prefix), add), said, metric.element),
    read: (pointer) => {
      area.dataset.pointer = pointer;
      const chosen = metric.read(`${pointer}/distance`);
      // Arrays that stay keep what they came with, unless another distance was chosen for all.
      return lines(area).map((text) => (
        chosen === first && given.has(text) ? given.get(text) : { ...reference(text, shelf.roots), ...(chosen ? { distance: chosen } : {}) }
      ));
    },
  };
}

function lines(area) {
  return area.value.split("\n").map((text) => text.trim()).filter(Boolean);
}
