// Everything the page asks of the service. Addresses are relative, so no request can go anywhere else.

const KEY = "ordsim-key";
const POLL_MILLISECONDS = 1000;

export const FINAL = new Set(["successful", "failed", "dismissed"]);

const KEY_WANTED = "This service answers only who has an API key. Enter yours to go on; whoever runs the service hands them out.";
const KEY_REFUSED = "The service does not accept the key of this tab: it may be mistyped, revoked or over its time. Enter another one.";

/** A problem document (RFC 9457), or what stands in for one where there is none. */
export class Problem extends Error {
  constructor(document, status) {
    super(document.detail || document.title || `The service answered ${status}.`);
    this.document = document;
    this.status = status;
    this.slug = String(document.type ?? "").split("/").pop();
    this.errors = document.errors ?? [];
  }
}

/** The key of this tab; an empty string if there is none. */
export function key() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** Keep a key for as long as the tab is open; an empty one is forgotten. */
export function keepKey(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

function headersWith(more) {
  const sent = new Headers(more);
  if (key()) sent.set("Authorization", `Bearer ${key()}`);
  return sent;
}

async function problemOf(response) {
  let document;
  try {
    document = await response.json();
  } catch {
    document = { title: "Something that is not ordsim answered", detail: `The answer was ${response.status}.` };
  }
  return new Problem(document, response.status);
}

async function send(address, options) {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options, headers: headersWith(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No answer", detail: "The service does not answer. Is it running?", origin: "system" }, 0);
  }
  if (response.ok || response.status === 304) return response;
  const problem = await problemOf(response);
  if (problem.status !== 401) throw problem;
  // The service tells programs which header to send; people have a field for it.
  const wanted = new Problem({ ...problem.document, detail: key() ? KEY_REFUSED : KEY_WANTED }, 401);
  window.dispatchEvent(new CustomEvent("ordsim-key-wanted", { detail: wanted.message }));
  throw wanted;
}

/** GET a JSON document. */
export async function get(address, signal) {
  return (await send(address, { signal })).json();
}

/** POST a JSON document, and return what came back with its status. */
export async function post(address, body, signal, headers = {}) {
  const response = await send(address, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...headers },
    signal,
  });
  return response.json();
}

/** Ask for a job to be cancelled. */
export async function cancel(job) {
  return (await send(`/v1/jobs/${encodeURIComponent(job)}`, { method: "DELETE" })).json();
}

/** The bytes of a file. */
export async function bytes(address, signal) {
  return (await send(address, { signal })).arrayBuffer();
}

/** Wait, but not longer than until the signal. */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/**
 * Call `seen` with the status of a job whenever it changes, until it is final.
 * The stream of events says when to look; where there is none, or it breaks, the page asks once a second.
 */
export async function follow(job, seen, signal) {
  const address = `/v1/jobs/${encodeURIComponent(job)}`;
  let tag = "";
  const look = async () => {
    const response = await send(address, { signal, headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (response.status === 304) return false;
    tag = response.headers.get("ETag") ?? "";
    const status = await response.json();
    seen(status);
    return FINAL.has(status.status);
  };
  if (await look()) return;
  if (await listen(`${address}/events`, look, signal)) return;
  while (!signal.aborted) {
    await pause(POLL_MILLISECONDS, signal);
    if (signal.aborted) return;
    try {
      if (await look()) return;
    } catch (error) {
      // A service that starts again goes on with its jobs; a problem with this job is for whoever called.
      if (error.name !== "AbortError" && error.status !== 0 && error.status < 500) throw error;
    }
  }
}

/** Look whenever the stream says something; whether the end was seen. */
async function listen(address, look, signal) {
  try {
    const response = await fetch(address, { headers: headersWith({ Accept: "text/event-stream" }), signal });
    if (!response.ok || !(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) return false;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      // Lines that begin with a colon only keep the connection open.
      if (value && /^(data|event|id):/m.test(value) && (await look())) return true;
      if (done) return await look();
    }
  } catch {
    return false;
  }
}
