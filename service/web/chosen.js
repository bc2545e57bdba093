// What was picked for the next comparison, in this tab.

const NAME = "ordsim-request";

/** The beginning of a request, {} if nothing was picked. */
export function chosen() {
  try {
    return JSON.parse(sessionStorage.getItem(NAME) ?? "{}");
  } catch {
    return {};
  }
}

/** Begin the next request with these fields. */
export function choose(request) {
  sessionStorage.setItem(NAME, JSON.stringify(request));
}
