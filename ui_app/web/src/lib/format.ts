// Numbers and times as text. Values stay as the server sent them; only their writing is chosen here.

import type { Cell, Unit } from "./types";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const date = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });

/** Three significant digits, no exponent: 1.23, 12.3, 123, 1,234. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return whole.format(value);
  return value.toFixed(size >= 9.995 ? 1 : 2);
}

const TIMES: [number, string][] = [
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

export function nanoseconds(value: number): string {
  // Minutes only from two minutes on: "75.3 s" reads better than "1.26 min".
  for (const [size, unit] of TIMES) {
    const least = unit === "min" ? 2 * size : size;
    if (Math.abs(value) >= least) return `${digits(value / size)} ${unit}`;
  }
  return `${count(value)} ns`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(value: number): string {
  let size = value;
  let step = 0;
  while (Math.abs(size) >= 1024 && step < SIZES.length - 1) {
    size /= 1024;
    step += 1;
  }
  return `${step === 0 ? count(size) : digits(size)} ${SIZES[step]}`;
}

export function percent(value: number): string {
  const share = value * 100;
  if (share > 0 && share < 0.05) return "< 0.1 %";
  return `${share.toFixed(1)} %`;
}

export const count = (value: number): string =>
  Number.isInteger(value) ? whole.format(value) : digits(value);

/** Date and time of day in the reader's time zone, as 2026-12-01 05:35. */
export const moment = (unixMs: number | null): string => (unixMs === null ? "–" : date.format(unixMs));

/** Write a value in its unit; a dash stands for "unknown". */
export function write(value: Cell, unit: Unit | string): string {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  switch (unit) {
    case "ns":
      return nanoseconds(value);
    case "share":
    case "0..1":
      return percent(value);
    case "bytes":
      return bytes(value);
    case "bytes/s":
      return `${bytes(value)}/s`;
    case "ns/s":
      return percent(value / 1e9);
    case "text":
      return String(value);
    default:
      return count(value);
  }
}

/** Shorten a long name in its middle: kernel names differ at both ends. */
export function shorten(text: string, room: number): string {
  if (text.length <= room) return text;
  if (room < 3) return text.slice(0, Math.max(room, 0));
  const tail = Math.floor((room - 1) * 0.4);
  return `${text.slice(0, room - 1 - tail)}…${text.slice(text.length - tail)}`;
}

export const plural = (number: number, noun: string, many = `${noun}s`): string =>
  `${whole.format(number)} ${number === 1 ? noun : many}`;

/** A word as a shell takes it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
