// The page: which view an address means, and the key that the service may ask for.

import { announce, fill, h } from "./dom.js";
import { key, keepKey } from "./service.js";
import { dataView } from "./views/data.js";
import { jobView } from "./views/job.js";
import { jobsView } from "./views/jobs.js";
import { submitView } from "./views/submit.js";

const main = document.getElementById("main");
let running = new AbortController();
let keepFocus = false;

function go(address, options = {}) {
  keepFocus = Boolean(options.keepFocus);
  if (location.hash === address) show();
  else location.hash = address;
}

function viewOf(path) {
  const [, room = "jobs", id] = path.split("/");
  if (room === "jobs") return id ? jobView : jobsView;
  return { new: submitView, data: dataView }[room] ?? missing;
}

function missing() {
  return { title: "Nothing here", content: [h("h1", { tabindex: "-1" }, "There is nothing here"), h("p", {}, h("a", { href: "#/jobs" }, "All jobs"))] };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function setTitle(text) {
  document.title = `${text} · ordsim`;
}

function show() {
  running.abort();
  running = new AbortController();
  const [path, search = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const id = path.split("/")[2];
  const active = document.activeElement?.id;
  const { title, content } = viewOf(path)({
    id: id ? decoded(id) : null, query: new URLSearchParams(search), go, setTitle, signal: running.signal,
  });
  setTitle(title);
  fill(main, content);
  for (const link of document.querySelectorAll("header nav a")) {
    const here = link.hash === `#/${path.split("/")[1] || "jobs"}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  // Who follows a link hears where it led; who filters a list stays at the filter.
  if (keepFocus) document.getElementById(active)?.focus();
  else if (started) main.querySelector("h1")?.focus({ preventScroll: true });
  if (!keepFocus) window.scrollTo(0, 0);
  keepFocus = false;
}

function keyDialog() {
  const [dialog, field] = ["key-dialog", "key-field"].map((name) => document.getElementById(name));
  const open = (reason) => {
    document.getElementById("key-reason").textContent = reason ?? "Where a service asks for a key, this one goes with every request.";
    field.value = key();
    if (!dialog.open) dialog.showModal();
  };
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "cancel" || !dialog.returnValue) return;
    keepKey(dialog.returnValue === "save" ? field.value.trim() : "");
    announce(key() ? "The key is used from now on." : "The key is forgotten.");
    show();
  });
  document.getElementById("key").addEventListener("click", () => open());
  window.addEventListener("ordsim-key-wanted", (event) => open(event.detail));
}

let started = false;
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", show);
keyDialog();
show();
started = true;
