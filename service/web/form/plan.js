// What a job would cost, before it is submitted.

import { facts, h, table } from "../dom.js";
import { counted, duration, grouped, rounded, size } from "../numerals.js";
import { measureShort } from "../words.js";

/** Lay out a plan, with a button that submits. */
export function planPanel(plan, submit) {
  const share = plan.peakWorkerBytes / plan.workerMemoryBytes;
  const most = plan.measures.some((entry) => entry.atMost);
  return [
    h("h2", {}, "The plan"),
    h("p", { class: "headline" },
      h("span", { class: "numeral" }, duration(plan.seconds)),
      h("span", { class: "unit" }, most ? "at most, until the results" : "until the results, estimated")),
    facts([
      ["At once", counted(plan.workers, "shard")],
      ["Memory of a worker", `${size(plan.peakWorkerBytes)} of ${size(plan.workerMemoryBytes)}${Number.isFinite(share) ? `, ${Math.round(100 * share)}%` : ""}`],
      ["Local copies", size(plan.stageBytes)],
    ]),
    table("Plan by measure", ["Measure", "Time", "Comparisons", "Shards", "Memory"], plan.measures.map((entry) => [
      measureShort(entry), duration(entry.seconds), rounded(entry.comparisons), grouped(entry.shards), size(entry.peakWorkerBytes),
    ]), { numeric: [1, 2, 3, 4] }),
    h("div", { class: "buttons" }, submit),
  ];
}
