// The binary answer of a window: a JSON header, then raw little-endian columns that begin at
// multiples of 8 bytes, so that typed arrays can lie right on them.

import type { Names } from "./names";

/** Marks of one lane in a window, by start; times in ns since the profile's start. */
export interface Slab {
  lane: string;
  t0: number;
  t1: number;
  /** Time per pixel it was asked for; it serves views that are no finer. */
  pixelNs: number;
  /** Length of its bins; 0 if all marks are events. */
  binNs: number;
  start: Float64Array;
  dur: Float64Array;
  /** Busy share of a bin, 1 for an event. */
  share: Float32Array;
  count: Uint32Array;
  name: Uint32Array;
  category: Uint8Array;
  exact: Uint8Array;
  /** Longest mark: how far to look back for one that reaches into a view. */
  longest: number;
}

interface Header {
  t0: number;
  t1: number;
  px: number;
  lanes: { key: string; marks: number; bin_ns: number }[];
  columns: [string, keyof typeof ARRAYS, number][];
  names: string[];
  categories: string[];
}

const ARRAYS = {
  f8: Float64Array,
  f4: Float32Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
};
export const CATEGORIES = ["", "compute", "communication", "memory", "host", "busy"];
const MAGIC = 0x31574d54;

export function decodeWindow(buffer: ArrayBuffer, names: Names): Slab[] {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new Error("The server's answer is not a window of the timeline.");
  }
  const size = view.getUint32(4, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 8, size));
  const header = JSON.parse(text) as Header;
  const columns: Record<string, InstanceType<(typeof ARRAYS)[keyof typeof ARRAYS]>> = {};
  let at = 8 + size;
  for (const [name, kind, length] of header.columns) {
    const column = new ARRAYS[kind](buffer, at, length);
    columns[name] = column;
    at += Math.ceil(column.byteLength / 8) * 8;
  }
  const nameIds = header.names.map((one) => names.idOf(one));
  const categoryIds = header.categories.map((one) => Math.max(CATEGORIES.indexOf(one), 0));
  const name = columns["name"] as Uint32Array;
  const category = columns["category"] as Uint8Array;
  for (let i = 0; i < name.length; i += 1) {
    name[i] = nameIds[name[i] as number] as number;
    category[i] = categoryIds[category[i] as number] as number;
  }
  let first = 0;
  return header.lanes.map(({ key, marks, bin_ns }) => {
    const last = first + marks;
    const cut = <T>(column: string) =>
      (columns[column] as Float64Array).subarray(first, last) as unknown as T;
    const slab: Slab = {
      lane: key,
      t0: header.t0,
      t1: header.t1,
      pixelNs: (header.t1 - header.t0) / header.px,
      binNs: bin_ns,
      start: cut("start"),
      dur: cut("dur"),
      share: cut("share"),
      count: cut("count"),
      name: cut("name"),
      category: cut("category"),
      exact: cut("exact"),
      longest: 0,
    };
    for (const dur of slab.dur) if (dur > slab.longest) slab.longest = dur;
    first = last;
    return slab;
  });
}

/** Index of the first mark that may reach beyond `t`. */
export function firstReaching(slab: Slab, t: number): number {
  const from = t - slab.longest;
  let low = 0;
  let high = slab.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slab.start[middle] as number) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
