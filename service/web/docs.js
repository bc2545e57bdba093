// The OpenAPI document as a page.

import { details, fill, h, table } from "./dom.js";
import { get } from "./service.js";
import { titled } from "./words.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** A schema in a few words. */
function shape(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map(shape).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.type === "array") return `list of ${shape(schema.items)}`;
  return [schema.type, schema.format].filter(Boolean).join(", ");
}

/** References of a schema lead to it. */
function linked(schema) {
  const text = shape(schema);
  const [first, ...others] = text.split(" or ");
  const link = (name) => (/^[A-Z]\w+$/.test(name) ? h("a", { href: `#schema-${name}` }, name) : name);
  return h("span", {}, link(first), others.map((name) => [" or ", link(name)]));
}

function operationPart(path, method, operation) {
  const body = Object.entries(operation.requestBody?.content ?? {})[0];
  return h("article", { class: "operation", id: operation.operationId ?? null },
    h("h3", {}, h("span", { class: `method ${method}` }, method.toUpperCase()), " ", h("code", {}, path)),
    operation.summary ? h("p", { class: "lede" }, operation.summary) : null,
    operation.description && operation.description !== operation.summary
      ? operation.description.split("\n\n").map((text) => (text.startsWith("|") ? h("pre", { tabindex: "0" }, text) : h("p", { class: "prose" }, text))) : null,
    operation.parameters?.length ? table("Parameters", ["Parameter", "In", "Type", ""], operation.parameters.map((parameter) => [
      h("code", {}, parameter.name), parameter.in, linked(parameter.schema), parameter.description ?? "",
    ])) : null,
    body ? h("p", {}, "Body, ", h("code", {}, body[0]), ": ", linked(body[1].schema)) : null,
    details("Answers", table("Answers", ["Status", "", "Form"], Object.entries(operation.responses).map(([status, response]) => [
      status, response.description,
      h("span", {}, Object.entries(response.content ?? {}).map(([media, content]) => [h("code", {}, media), " ", linked(content.schema), " "])),
    ]))));
}

function schemaPart(name, schema) {
  const needed = new Set(schema.required ?? []);
  return h("details", { id: `schema-${name}`, class: "schema" },
    h("summary", {}, h("code", {}, name)),
    schema.description ? h("p", { class: "prose" }, schema.description.split("\n\n")[0]) : null,
    schema.properties ? table(`Fields of ${name}`, ["Field", "Type", ""], Object.entries(schema.properties).map(([field, part]) => [
      h("code", {}, field), linked(part), [needed.has(field) ? "Needed. " : "", part.description ?? ""].join(""),
    ])) : h("p", {}, linked(schema)));
}

async function show() {
  const main = document.getElementById("main");
  fill(main, h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "API")), h("p", { class: "later", role: "status" }, "Loading …"));
  try {
    const described = await get("/openapi.json");
    const tags = new Map();
    for (const [path, operations] of Object.entries(described.paths)) {
      for (const method of METHODS.filter((name) => operations[name])) {
        const tag = operations[method].tags?.[0] ?? "other";
        tags.set(tag, [...(tags.get(tag) ?? []), operationPart(path, method, operations[method])]);
      }
    }
    const schemas = Object.entries(described.components?.schemas ?? {}).sort(([one], [other]) => one.localeCompare(other));
    fill(main,
      h("div", { class: "title" }, h("h1", { tabindex: "-1" }, "API")),
      h("p", { class: "lede" }, described.info.summary ?? described.info.title, " Version ", described.info.version, "."),
      h("p", {}, h("a", { href: "/openapi.json" }, "openapi.json"), ", for tools that make clients."),
      [...tags].map(([tag, parts]) => h("section", {}, h("h2", {}, titled(tag)), parts)),
      h("section", {}, h("h2", {}, "Forms"), schemas.map(([name, schema]) => schemaPart(name, schema))));
    lead();
  } catch (error) {
    fill(main, h("h1", {}, "API"), h("p", { class: "empty" }, error.message));
  }
}

/** Open what the address names. */
function lead() {
  const place = location.hash && document.getElementById(location.hash.slice(1));
  if (!place) return;
  if (place.tagName === "DETAILS") place.open = true;
  place.scrollIntoView();
}

window.addEventListener("hashchange", lead);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
show();
