// Numbers, sizes and times as a person reads them; the same as the command line prints.

const SCALES = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
const FEWEST = 6;
const MOST = 15;

/** Every digit: 3,994,002,000. Counts are decimal strings, longer than a float holds. */
export function grouped(count) {
  return BigInt(count).toLocaleString("en-GB");
}

/** The size of a count: 4.0 billion. */
export function rounded(count) {
  const number = Number(count);
  if (number >= 1e15) return number.toExponential(1).replace("e+", "e");
  for (const [scale, name] of SCALES) {
    if (number >= 0.99995 * scale) return `${(number / scale).toFixed(1)} ${name}`;
  }
  return grouped(Math.round(number));
}

/** A share as a percentage; never 0% or 100% for what is only near, and with digits that tell it from one `beside` it. */
export function percent(share, beside = null) {
  if (beside !== null && beside !== share && percent(share) === percent(beside)) {
    const fixed = (value, digits) => (100 * value).toFixed(digits);
    let digits = 1;
    while (digits < 12 && fixed(share, digits) === fixed(beside, digits)) digits += 1;
    return `${fixed(share, digits)}%`;
  }
  if (share === 0 || share === 1) return `${100 * share}%`;
  if (share < 0.0005) return "< 0.05%";
  if (share >= 0.9995) return "> 99.95%";
  return `${(100 * share).toFixed(1)}%`;
}

function decimals(deficit) {
  if (deficit === null || deficit === undefined || !(deficit > 0 && deficit < 1)) return FEWEST;
  return Math.min(MOST, Math.max(FEWEST, 1 - Math.floor(Math.log10(deficit))));
}

/** A score with as many digits as tell it from 1, by its deficit. */
export function score(value, deficit) {
  return value.toFixed(decimals(deficit));
}

/** What is missing to 1; a true zero is 0. */
export function deficit(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 0.001 ? value.toFixed(FEWEST) : exponential(value, 3);
}

/** A power of ten in plain characters: 1.5e-9. */
export function exponential(value, digits = 2) {
  return value === 0 ? "0" : value.toExponential(digits).replace("e+", "e");
}

/** A figure of no particular kind, in at most six digits. */
export function figure(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return exponential(value, 3);
  return String(Number(value.toPrecision(6)));
}

/** A p-value in three digits. */
export function pValue(value) {
  return value < 1e-4 ? exponential(value, 2) : String(Number(value.toPrecision(3)));
}

/** Both ends of an interval, with digits that tell them apart. */
export function span(low, high) {
  const width = high - low;
  const digits = width > 0 ? Math.min(10, Math.max(4, 2 - Math.floor(Math.log10(width)))) : 6;
  return `${low.toFixed(digits)} to ${high.toFixed(digits)}`;
}

/** The same in percent. */
export function spanPercent(low, high) {
  const width = 100 * (high - low);
  const digits = width <= 0 ? 1 : Math.min(8, Math.max(1, 1 - Math.floor(Math.log10(width))));
  return `${(100 * low).toFixed(digits)}% to ${(100 * high).toFixed(digits)}%`;
}

/** A chosen share with the digits it was chosen with: 99%, 99.9%. */
export function share(value) {
  return `${Number((100 * value).toPrecision(10))}%`;
}

/** 9.4 GiB, 312.0 MiB, 64 bytes. */
export function size(bytes) {
  for (const [name, unit] of [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= unit) return `${(bytes / unit).toFixed(1)} ${name}`;
  }
  return `${bytes} bytes`;
}

/** 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long ago something was: just now, 5 min ago, 3 h ago, 12 May. */
export function ago(moment) {
  const then = new Date(moment);
  const seconds = (Date.now() - then) / 1000;
  if (seconds < 45) return "just now";
  if (seconds < 3570) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h ago`;
  return then.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** A moment in full, by the reader's clock, with its zone. */
export function moment(text) {
  return new Date(text).toLocaleString("en-GB", {
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
  });
}

/** 1 row, 2 rows. */
export function counted(number, noun) {
  return `${grouped(number)} ${noun}${Number(number) === 1 ? "" : "s"}`;
}
