// Time maths of the timeline. Times are nanoseconds since the start of the profile, as float64:
// exact up to 104 days, so nothing here needs BigInt.

export interface View {
  t0: number;
  t1: number;
}

export const MIN_SPAN_NS = 10;
/** How far one may look beyond the ends of the profile, as a share of its length. */
const MARGIN = 0.02;

export const spanOf = (view: View): number => view.t1 - view.t0;

/** The whole profile with a little room at both ends. */
export const wholeOf = (span: number): View => ({ t0: -MARGIN * span, t1: (1 + MARGIN) * span });

/** Keep a view within the profile: its length first, then its place. */
export function clampView(view: View, span: number): View {
  const whole = wholeOf(span);
  const length = Math.min(Math.max(spanOf(view), MIN_SPAN_NS), spanOf(whole));
  const middle = (view.t0 + view.t1) / 2;
  let t0 = spanOf(view) === length ? view.t0 : middle - length / 2;
  t0 = Math.min(Math.max(t0, whole.t0), whole.t1 - length);
  return { t0, t1: t0 + length };
}

/** Zoom so that the time `at` stays where it is; a factor below 1 shows less time. */
export function zoomed(view: View, at: number, factor: number, span: number): View {
  const length = Math.min(Math.max(spanOf(view) * factor, MIN_SPAN_NS), spanOf(wholeOf(span)));
  const share = (at - view.t0) / spanOf(view);
  const t0 = at - share * length;
  return clampView({ t0, t1: t0 + length }, span);
}

export const panned = (view: View, by: number, span: number): View =>
  clampView({ t0: view.t0 + by, t1: view.t1 + by }, span);

/** A view that shows an interval in its middle, with room on both sides. */
export function around(start: number, length: number, span: number, share = 0.6): View {
  const wide = Math.max(length / share, MIN_SPAN_NS);
  const t0 = start + length / 2 - wide / 2;
  return clampView({ t0, t1: t0 + wide }, span);
}

/** Round times for a ruler: multiples of 1, 2 or 5 times a power of ten. */
export function ticks(view: View, width: number, apart = 110): { at: number[]; step: number } {
  const raw = (spanOf(view) * apart) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
  const step = Math.max([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10, 1) * power;
  const at: number[] = [];
  for (let n = Math.ceil(view.t0 / step); n * step <= view.t1; n += 1) at.push(n * step);
  return { at, step };
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Write a time so that neighbours a step apart differ: 13.468 s, 2.5 ms. */
export function timeText(t: number, step: number): string {
  const [size, unit] = UNITS.find(([least]) => Math.abs(t) >= least) ?? [1, "ns"];
  const decimals = Math.max(0, Math.ceil(Math.log10(size) - Math.log10(Math.max(step, 1)) - 1e-9));
  return `${(t / size).toFixed(decimals)} ${unit}`;
}
