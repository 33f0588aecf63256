// One stable colour per name, everywhere and in every run; fixed colours for words with a meaning.

const HUES = 12;

const FIXED: Record<string, string> = {
  Active: "var(--busy)",
  Idle: "var(--idle)",
  kernel: "var(--compute)",
  memcpy: "var(--mem)",
  memset: "var(--hue-4)",
  sync: "var(--hue-7)",
  idle: "var(--idle)",
  compute: "var(--compute)",
  overlap: "var(--overlap)",
  exposed_comm: "var(--comm)",
  exposed_mem: "var(--mem)",
  input_wait: "var(--hue-1)",
  host_bound: "var(--hue-0)",
  launch_bound: "var(--hue-5)",
  communication_wait: "var(--hue-2)",
  FP64: "var(--hue-8)",
  FP32: "var(--hue-0)",
  TF32: "var(--hue-3)",
  BF16: "var(--hue-2)",
  FP16: "var(--hue-1)",
  FP8: "var(--hue-4)",
  INT8: "var(--hue-9)",
  INT32: "var(--hue-6)",
  other: "var(--others)",
  HtoD: "var(--hue-0)",
  DtoH: "var(--hue-1)",
  DtoD: "var(--hue-2)",
  PtoP: "var(--hue-3)",
  HtoH: "var(--hue-6)",
};

/** Colour of a name as a CSS value that follows the theme. */
export function colourOf(name: string): string {
  const fixed = FIXED[name];
  if (fixed) return fixed;
  if (/^[\d,]+ other /.test(name)) return "var(--others)";
  return `var(--hue-${hueOf(name)})`;
}

/** Number of a name's hue. All steps have the same: they are one series. */
export function hueOf(text: string): number {
  const name = text.replace(/^(step_|ProfilerStep#)\d+$/, "$1");
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  // Similar names must not get similar hashes: mix all bits into the low ones.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % HUES;
}

/** Colour of the n-th line of a chart: lines are told apart by order, not by name. */
export const lineColour = (position: number): string => `var(--hue-${position % HUES})`;
