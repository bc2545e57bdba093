// The measures of a request: any of the catalogue, with the options that the catalogue gives them.

import { fill, h, unique } from "../dom.js";
import { measureName, titled } from "../words.js";
import { fields, labelled } from "./fields.js";

/** More rows than anyone has is no limit worth a word. */
const MANY = 1e9;
const USUAL = { measure: "tsi", method: "exact", per_anchor: true };

/** A card for one measure: which, how, and its options. */
export function measureField(catalogue, { initial = USUAL, allowed = () => true, remove = null } = {}) {
  const known = catalogue.filter(allowed);
  const names = [...new Set(known.map(({ measure }) => measure))];
  const measure = h("select", {}, names.map((name) => h("option", { value: name, selected: name === initial.measure }, `${measureName(name)} (${name})`)));
  const method = h("select", {});
  const about = h("p", { class: "hint" });
  const place = h("div", { class: "fields" });
  let options = null;
  const entries = () => known.filter((entry) => entry.measure === measure.value);
  const chooseMethod = (values = {}) => {
    const entry = entries().find((candidate) => candidate.method === method.value) ?? entries()[0];
    options = fields(entry.options, entry.options.$defs ?? {}, values, ["measure", "method"]);
    about.textContent = `${entry.title}. At least ${entry.minimumRows} rows${entry.maximumRows < MANY ? `, at most ${entry.maximumRows.toLocaleString("en-GB")}` : ""}.`;
    fill(place, options.elements);
  };
  const chooseMeasure = (wanted, values) => {
    const usual = entries().find((entry) => entry.default) ?? entries()[0];
    fill(method, entries().map((entry) => h("option", { value: entry.method, selected: entry.method === (wanted ?? usual.method) }, titled(entry.method))));
    chooseMethod(values);
  };
  measure.addEventListener("change", () => chooseMeasure());
  method.addEventListener("change", () => chooseMethod());
  chooseMeasure(initial.kernel && entries().some((entry) => entry.method === initial.kernel) ? initial.kernel : initial.method, initial);
  const name = unique("measure");
  const self = {
    element: h("fieldset", { class: "card" },
      h("legend", { id: name, class: "unseen" }, "Measure"),
      h("div", { class: "row" }, labelled("Measure", measure), labelled("Method", method),
        remove && h("button", { type: "button", class: "quiet", onclick: () => remove(self), "aria-label": "Remove this measure" }, "Remove")),
      about, place),
    focus: () => measure.focus(),
    read: (pointer) => {
      measure.dataset.pointer = `${pointer}/measure`;
      method.dataset.pointer = `${pointer}/method`;
      return { measure: measure.value, method: method.value, ...options.read(pointer) };
    },
  };
  return self;
}

/** Any number of measures. */
export function measuresField(catalogue, limit, initial = [USUAL]) {
  const list = h("div", { class: "cards" });
  const add = h("button", { type: "button", onclick: () => { const made = push(); made.focus(); } }, "Add a measure");
  let cards = [];
  const renew = () => { add.disabled = cards.length >= limit; };
  const remove = (card) => {
    cards = cards.filter((other) => other !== card);
    card.element.remove();
    renew();
    (cards.at(-1) ?? { focus: () => add.focus() }).focus();
  };
  const push = (values) => {
    const card = measureField(catalogue, { initial: values, remove });
    cards.push(card);
    list.append(card.element);
    renew();
    return card;
  };
  initial.forEach((values) => push(values));
  return {
    element: h("div", {}, list, add),
    read: (pointer) => {
      add.dataset.pointer = pointer;
      return cards.map((card, place) => card.read(`${pointer}/${place}`));
    },
  };
}
