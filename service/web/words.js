// What measures, intervals and problems are called in plain words.

import { counted, duration, grouped, percent, pValue, rounded, share, spanPercent } from "./numerals.js";

export const MEASURES = {
  tsi: "Triplet similarity",
  qsi: "Quadruplet similarity",
  cka: "Centred kernel alignment",
  rsa: "Representational similarity analysis",
  procrustes: "Procrustes similarity",
  cca: "Canonical correlation",
  svcca: "Singular vector canonical correlation",
  pwcca: "Projection weighted canonical correlation",
  mutual_knn: "Mutual nearest neighbours",
  cknna: "Kernel alignment on nearest neighbours",
};

export const PROCESSES = { compare: "Comparison", layers: "Layers", matrix: "Models" };

export const INTERVALS = {
  sampling: "these rows",
  hoeffding: "these rows, Hoeffding",
  population: "population",
  jackknife: "population, jackknife",
  arithmetic: "exact arithmetic",
};

const SPEAKS_OF = {
  sampling: "Of the score of all comparisons between these rows.",
  hoeffding: "Of the score of all comparisons between these rows, after Hoeffding.",
  population: "Of the score of the population that the rows are from.",
  jackknife: "Of the same population, right in the limit of many rows.",
  arithmetic: "Of the score in exact arithmetic: what rounding may have changed.",
};

const METHODS = {
  "none-exact": "every comparison was made",
  "clopper-pearson": "Clopper-Pearson",
  "maurer-pontil": "Maurer-Pontil",
  "kl-u-statistic": "Kullback-Leibler for a U-statistic, a bound for the worst case",
  "hoeffding-u-statistic": "Hoeffding, for a U-statistic",
  "float32-bound": "bound on rounding in float32",
};

const ROUNDING = 1e-12;
/** A maximum beyond it is no news. */
const ENOUGH = 0.9995;

const SCHEMES = { rows: "all rows of one array", "within-groups": "rows within their groups", "between-groups": "whole groups" };

export const ORIGINS = {
  request: "What was asked for has to change.",
  data: "The data has to change.",
  system: "Whoever runs the service has to act.",
};

export const STATUSES = {
  accepted: "waiting", running: "running", successful: "finished", failed: "failed", dismissed: "cancelled",
};

const QUESTIONS = {
  tsi: ["triplets", "which of two rows lies nearer to a third"],
  qsi: ["quadruplets", "which of two pairs of rows lies closer together"],
};

/** What a measure is called; a measure nobody named here keeps its own name. */
export function measureName(measure) {
  return MEASURES[measure] ?? measure;
}

const SHORT = { procrustes: "Procrustes", mutual_knn: "mutual kNN" };

/** TSI exact. */
export function measureShort({ measure, method, kernel }) {
  const detail = kernel ?? method;
  return `${SHORT[measure] ?? measure.replaceAll("_", " ").toUpperCase()}${detail ? ` ${detail}` : ""}`;
}

/** early_stop is "early stop", minimumRows "minimum rows". */
export function spaced(name) {
  return name.replaceAll(/[_-]/g, " ").replaceAll(/([a-z])([A-Z])/g, (_, before, letter) => `${before} ${letter.toLowerCase()}`);
}

/** The same, with a capital. */
export function titled(name) {
  const text = spaced(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const OPTIONS = {
  align: "Use of row identifiers", alpha: "Level of the threshold", bandwidth: "Bandwidth of the kernel", batch_size: "Rows of a batch",
  confidence: "Confidence of intervals", delta: "Chance of a larger error", early_stop: "Stop early", epsilon: "Largest error",
  exceedances: "Stop after so many", k: "Neighbours", missing_chunks: "Chunks that are not stored", on_non_finite: "Values that are not finite",
  pairs: "Pairs of a unit", per_anchor: "Also scores of single rows", precision: "Order of distances", reuse: "Take over results of an equal job",
  scheme: "What is permuted", seed: "Seed of random numbers", smax: "Largest possible score", statistic_rows: "Rows of the statistic",
  targets: "Targets of a unit", threshold: "Share of variance kept", ties: "Ties at the border", width: "Width to stop at",
};

const CHOICES = {
  align: { check: "check that they are equal", join: "join rows by them" },
  on_non_finite: { error: "refuse", drop: "leave out their rows", "drop-columns": "leave out their columns" },
  missing_chunks: { error: "refuse", fill: "take the fill value" },
  precision: { exact: "as in exact arithmetic", float32: "float32, faster" },
  scheme: SCHEMES,
};

/** What an option of a request is called. */
export function optionName(name) {
  return OPTIONS[name] ?? titled(name);
}

/** What one of its values is called. */
export function choiceName(name, value) {
  return CHOICES[name]?.[value] ?? String(value);
}

/** root:path. */
export function named({ root, path }) {
  return `${root}:${path}`;
}

/** What a job is called: by its label, or by what it compares. */
export function jobTitle(job) {
  return job.label || jobArrays(job);
}

/** What names share, up to the last slash or the root, and their rests: [lab:a/, [one, other]]. */
export function parted(names) {
  let shared = names[0] ?? "";
  for (const name of names) while (!name.startsWith(shared)) shared = shared.slice(0, -1);
  const prefix = shared.slice(0, Math.max(shared.lastIndexOf("/"), shared.indexOf(":")) + 1);
  return [prefix, names.map((name) => name.slice(prefix.length))];
}

/** Many arrays in a few words, which tell them from others: by their folder, or by one of them. */
function several(arrays, noun = "") {
  const names = arrays.map(named);
  if (names.length < 2) return names.join();
  const [prefix] = parted(names);
  if (prefix.endsWith("/")) return `${grouped(names.length)} ${noun ? `${noun}s ` : ""}of ${prefix}`;
  return `${names[0]} and ${counted(names.length - 1, "other")}`;
}

/** What a job compares. */
export function jobArrays({ process, request }) {
  if (process === "layers") return `${several(request.x.layers, "layer")} with ${several(request.y.layers)}`;
  if (process === "matrix") return `${several(request.arrays, "array")} with one another`;
  return `${named(request.x)} with ${named(request.y)}`;
}

/** By what it compares. */
export function jobMeasures({ request }) {
  return (request.measures ?? [request.measure]).map(measureShort).join(", ");
}

/** How far a running job is, in a sentence. */
export function jobProgress(job) {
  const { comparisonsDone, comparisonsTotal, etaSeconds } = job.ordsim;
  const parts = [job.message];
  if (job.status === "running" && comparisonsTotal > 0) parts.push(`${rounded(comparisonsDone)} of ${rounded(comparisonsTotal)} comparisons.`);
  if (etaSeconds !== null && etaSeconds !== undefined) parts.push(`About ${duration(etaSeconds)} left.`);
  return parts.join(" ");
}

/** What an interval encloses, and how it was found. */
export function intervalWords(kind, interval) {
  const method = METHODS[interval.method] ?? interval.method;
  const units = `${interval.unit ?? "row"}s`;
  const said = [method];
  if (kind === "jackknife" && interval.method !== "jackknife") {
    said[0] = `in place of a jackknife over ${units}, whose standard error would be 0: ${method}`;
  } else if (interval.standardError !== undefined && interval.standardError !== null) {
    said.push(`standard error ${interval.standardError.toPrecision(3)} over ${units}`);
  }
  if (interval.uncertified) said.push(`${grouped(interval.uncertified)} comparisons in doubt`);
  else if (interval.confidence) said.push(`${share(interval.confidence)} confidence`);
  if (interval.rigorous === false) said.push("not rigorous");
  return `${SPEAKS_OF[kind] ?? ""} ${said.join(", ")}.`.trim();
}

/** Whether only some of all comparisons were made. */
export function isSampled({ counts, method }) {
  return method !== "exact" || BigInt(counts.comparisons) < BigInt(counts.population);
}

/** What the score means, in sentences; an empty string where nothing is known of the measure. */
export function meaning(result) {
  const known = QUESTIONS[result.measure];
  if (!known || result.score === null || !result.counts || result.counts.comparisons === "0") return "";
  const [tuples, question] = known;
  const sampled = isSampled(result);
  const made = `${rounded(result.counts.comparisons)} ${tuples}${sampled ? " drawn" : ""}`;
  const said = [result.deficit === 0
    ? `In every one of the ${made}, x and y agree on ${question}.`
    : `In ${percent(result.score, result.baseline).replace("> ", "more than ").replace("< ", "less than ")} of the ${made}, x and y agree on ${question}.`];
  const bounds = result.intervals?.sampling;
  if (sampled && bounds) {
    said.push(`Of all ${rounded(result.counts.population)}, they agree in ${spanPercent(bounds.low, bounds.high)}, with ${share(bounds.confidence)} confidence.`);
  }
  said.push(beside(result));
  return said.filter(Boolean).join(" ");
}

/** On which side of the baseline the score lies, where an interval says so, and nothing of what that proves. */
function beside(result) {
  const { score, baseline, attainableMaximum, counts } = result;
  if (baseline === undefined || baseline === null) return "";
  const ties = ["tiedX", "tiedY", "tiedBoth"].some((kind) => counts[kind] !== "0");
  const line = `the baseline of ${percent(baseline, score)}, what unrelated arrays${ties ? " with the same ties" : ""} would score on average`;
  const most = attainableMaximum < ENOUGH ? `; ${percent(attainableMaximum)} is the most that these ties allow` : "";
  return `${side(result, line)}${most}.`;
}

/** Of a sample, its interval decides; of all comparisons, what is known of other rows of the same population. */
function side({ score, baseline, intervals = {} }, line) {
  const above = score > baseline ? "above" : "below";
  const holds = ({ low, high }) => low <= baseline + ROUNDING && baseline <= high + ROUNDING;
  const { sampling } = intervals;
  if (sampling && sampling.low < sampling.high) return holds(sampling) ? `Within that range lies ${line}` : `This is ${above} ${line}`;
  if (score === baseline) return `This is at ${line}`;
  const known = ["population", "jackknife"].filter((kind) => intervals[kind]);
  const clear = known.find((kind) => !holds(intervals[kind]));
  if (clear) return `${clear === "jackknife" ? "By the jackknife, this" : "This"} is ${above} ${line}`;
  return known.length
    ? `Within the interval of the population lies ${line}`
    : `Beside it stands ${line}, and nothing here tells how sure the difference is`;
}

/** What a calibration found, in sentences. */
export function calibrationWords(calibration) {
  const { permutations, exceedances, pValueInterval: bounds } = calibration;
  const scheme = SCHEMES[calibration.scheme] ?? calibration.scheme;
  const reached = exceedances === 0 && !calibration.enumerated ? "None" : grouped(exceedances);
  const all = calibration.enumerated ? ", all there are," : "";
  const said = [`${reached} of ${grouped(permutations)} permutations of ${scheme}${all} ${exceedances === 1 ? "gives" : "give"} at least as much${calibration.stoppedEarly ? ", which was enough" : ""}.`];
  if (bounds && !calibration.enumerated) {
    said.push(`With any number of them the p-value would come to between ${pValue(bounds.low)} and ${pValue(bounds.high)}, with ${share(bounds.confidence)} confidence.`);
  }
  return said.join(" ");
}
