// Fields of a form, made from the JSON schema that the catalogue gives for a request.
// A field is { element, read }: `read(pointer)` gives its value, or undefined where the default stands, and remembers
// where in the request the value went, so that a problem can be shown beside it.

import { h, unique } from "../dom.js";
import { choiceName, optionName } from "../words.js";

/** Put a label, a hint and room for an error around a control. */
export function labelled(text, control, hint = null) {
  const name = unique("field");
  const error = h("p", { class: "error", id: `${name}-error`, hidden: true });
  const described = [hint ? `${name}-hint` : null, `${name}-error`].filter(Boolean).join(" ");
  control.id = name;
  control.setAttribute("aria-describedby", described);
  const label = h("label", { for: name }, text);
  const parts = control.type === "checkbox" ? [h("div", { class: "check" }, control, label)] : [label, control];
  return h("div", { class: "field" }, parts, hint ? h("p", { class: "hint", id: `${name}-hint` }, hint) : null, error);
}

/** Follow a reference, and take a value that may be null for what it else is. */
export function resolved(schema, definitions) {
  if (schema.$ref) {
    const named = definitions[schema.$ref.split("/").pop()];
    // What stands beside a reference says what it is for here; `docstring` keeps what it says of itself.
    return { ...named, docstring: named.description, ...omit(schema, "$ref") };
  }
  if (schema.anyOf) {
    const others = schema.anyOf.filter((part) => part.type !== "null");
    const nullable = others.length < schema.anyOf.length;
    if (others.length === 1) return { ...resolved(others[0], definitions), ...omit(schema, "anyOf"), nullable };
    return { ...omit(schema, "anyOf"), parts: others.map((part) => resolved(part, definitions)), nullable };
  }
  return schema;
}

function omit(schema, name) {
  const { [name]: _, ...rest } = schema;
  return rest;
}

/** A field for one property; null where there is nothing to choose. */
export function field(name, given, definitions, { initial, needed = false, label = null } = {}) {
  const schema = resolved(given, definitions);
  if (schema.const !== undefined) return null;
  const about = { name, label, schema, initial: initial === undefined ? schema.default : initial, needed, definitions };
  if (schema.enum) return choice(about);
  if (schema.type === "boolean") return flag(about);
  if (schema.type === "object") return schema.properties ? group(about) : null;
  if (schema.type === "array") return null;
  return entry(about);
}

function choice({ name, schema, initial }) {
  const select = h("select", {}, schema.enum.map((value) => h("option", { value, selected: value === initial }, choiceName(name, value))));
  return simple(labelled(optionName(name), select, schema.description), select, () => (select.value === schema.default ? undefined : select.value));
}

function flag({ name, schema, initial }) {
  const box = h("input", { type: "checkbox", checked: Boolean(initial) });
  return simple(labelled(optionName(name), box, schema.description), box, () => (box.checked === Boolean(schema.default) ? undefined : box.checked));
}

function entry({ name, schema, initial, needed }) {
  const numeric = /^(integer|number)$/.test(schema.type ?? "") || schema.parts?.some((part) => part.type !== "string");
  const input = h("input", {
    type: "text", inputmode: numeric ? "decimal" : null, spellcheck: numeric ? "false" : null, autocomplete: "off",
    value: initial === null || initial === undefined ? "" : String(initial),
    "aria-required": needed ? "true" : null,
  });
  const hint = [schema.description, numeric ? limits(schema) : null, needed ? "Needed." : null].filter(Boolean).join(" ");
  return simple(labelled(optionName(name), input, hint || null), input, () => {
    const text = input.value.trim();
    // An emptied field that had a default says null where that is allowed, as for smax.
    if (!text) return schema.nullable && schema.default !== null && schema.default !== undefined ? null : undefined;
    const value = numeric && Number.isFinite(Number(text)) ? Number(text) : text;
    return value === schema.default ? undefined : value;
  });
}

function limits(schema) {
  const least = schema.minimum ?? schema.exclusiveMinimum;
  const most = schema.maximum ?? (schema.exclusiveMaximum < 1e15 ? schema.exclusiveMaximum : undefined);
  if (least === undefined && most === undefined) return null;
  const digits = (value) => (Math.abs(value) >= 1e7 || (value && Math.abs(value) < 1e-4) ? value.toExponential().replace("e+", "e") : String(Math.abs(value - 1) < 1e-12 ? 1 : value));
  const [over, under] = [schema.exclusiveMinimum !== undefined ? "Above" : "From", schema.exclusiveMaximum !== undefined ? "below" : "to"];
  if (most === undefined) return `${over} ${digits(least)}.`;
  return `${over} ${digits(least)} ${under} ${digits(most)}.`;
}

/** An object that is there or not, with fields of its own. */
function group({ name, label, schema, initial, definitions }) {
  const box = h("input", { type: "checkbox", checked: Boolean(initial) });
  const inner = fields(schema, definitions, initial ?? {});
  const held = h("div", { class: "fields inner", hidden: !box.checked }, inner.elements);
  box.addEventListener("change", () => { held.hidden = !box.checked; });
  const element = h("div", { class: "group" }, labelled(label ?? optionName(name), box, schema.description?.split("\n")[0]), held);
  return {
    name,
    element,
    read: (pointer) => {
      box.dataset.pointer = pointer;
      return box.checked ? inner.read(pointer) : undefined;
    },
  };
}

/** Fields for the properties of an object, but for those in `without`. */
export function fields(schema, definitions, initial = {}, without = []) {
  const explained = attributes(schema.docstring ?? schema.description);
  const made = Object.entries(schema.properties)
    .filter(([name]) => !without.includes(name))
    .map(([name, part]) => [name, field(name, explained.has(name) ? { description: explained.get(name), ...part } : part, definitions, { initial: initial[name], needed: schema.required?.includes(name) })])
    .filter(([, found]) => found);
  return {
    elements: made.map(([, found]) => found.element),
    read: (pointer) => Object.fromEntries(made
      .map(([name, found]) => [name, found.read(`${pointer}/${name}`)])
      .filter(([, value]) => value !== undefined)),
  };
}

/** What a docstring says of each attribute: a line "name : type", and indented below it the text. */
function attributes(docstring = "") {
  const found = new Map();
  for (const [, name, text] of docstring.matchAll(/^(\w+) : .*\n((?:[ ]{4}.*(?:\n|$))+)/gm)) {
    found.set(name, text.replaceAll(/\s+/g, " ").replaceAll("`", "").replaceAll(/\bNone\b/g, "empty").trim());
  }
  return found;
}

function simple(element, control, value) {
  return {
    element,
    read: (pointer) => {
      control.dataset.pointer = pointer;
      return value();
    },
  };
}

/** A line of text that a request may have. */
export function line(label, hint, initial = "") {
  const input = h("input", { type: "text", value: initial, autocomplete: "off" });
  return simple(labelled(label, input, hint), input, () => input.value.trim() || undefined);
}

