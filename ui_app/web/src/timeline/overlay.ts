// What lies above the lanes: ruler, steps, selection, launch arrow, chosen range, cursor, overview.

import { nanoseconds } from "../lib/format";
import { coverage, FONT } from "./draw";
import type { Palette } from "./palette";
import { spanOf, ticks, timeText, type View } from "./time";
import type { Slab } from "./wire";

export interface Steps {
  step: number[];
  start: number[];
  end: number[];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const ARROW_HEAD = 6;

export function drawRuler(
  context: CanvasRenderingContext2D,
  view: View,
  width: number,
  height: number,
  palette: Palette,
  steps: Steps,
): void {
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  const { at, step } = ticks(view, width);
  const scale = width / spanOf(view);
  context.fillStyle = palette.muted;
  for (const t of at) {
    const x = (t - view.t0) * scale;
    context.fillRect(x, height / 2 - 6, 1, 12);
    const text = timeText(t, step);
    if (x + 4 + context.measureText(text).width < width) context.fillText(text, x + 4, 9);
  }
  let free = -Infinity;
  for (let i = firstStep(steps, view.t0); i < steps.step.length; i += 1) {
    const from = steps.start[i] as number;
    if (from > view.t1) break;
    const x = Math.max((from - view.t0) * scale, 0);
    const end = Math.min(((steps.end[i] as number) - view.t0) * scale, width);
    if (x < free || end < 0) continue;
    const text = `step_${steps.step[i]}`;
    const wide = context.measureText(text).width;
    // The rest of a step at the left edge would take the room of the next one's name.
    const next = ((steps.start[i + 1] ?? Infinity) - view.t0) * scale;
    if (from < view.t0 && Math.min(end, next) - x < wide + 14) continue;
    context.fillStyle = palette.accent;
    context.fillRect(x, height - 17, 1.5, 17);
    if (x + wide + 6 < width) context.fillText(text, x + 5, height - 8);
    free = x + wide + 14;
  }
}

/** Index of the first step that may reach beyond `t`: starts ascend, ends nearly do. */
function firstStep(steps: Steps, t: number): number {
  let low = 0;
  let high = steps.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps.end[middle] as number) < t) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 8, 0);
}

export function drawRange(
  context: CanvasRenderingContext2D,
  view: View,
  range: View,
  width: number,
  height: number,
  palette: Palette,
): void {
  const scale = width / spanOf(view);
  const x0 = Math.max((range.t0 - view.t0) * scale, -2);
  const x1 = Math.min((range.t1 - view.t0) * scale, width + 2);
  if (x1 < 0 || x0 > width) return;
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.13;
  context.fillRect(x0, 0, x1 - x0, height);
  context.globalAlpha = 1;
  context.fillRect(x0, 0, 1.5, height);
  context.fillRect(x1 - 1.5, 0, 1.5, height);
  const text = nanoseconds(range.t1 - range.t0);
  context.font = `600 ${FONT}`;
  const wide = context.measureText(text).width;
  if (x1 - x0 < wide + 12) return;
  const middle = (Math.max(x0, 0) + Math.min(x1, width)) / 2;
  context.fillStyle = palette.raised;
  context.fillRect(middle - wide / 2 - 5, 3, wide + 10, 17);
  context.fillStyle = palette.text;
  context.textBaseline = "middle";
  context.fillText(text, middle - wide / 2, 12);
}

export function drawBox(
  context: CanvasRenderingContext2D,
  box: Box,
  colour: string,
  line: number,
): void {
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
}

/** The arrow from a launch to its run, across rows. */
export function drawArrow(
  context: CanvasRenderingContext2D,
  from: Box,
  to: Box,
  palette: Palette,
): void {
  const x0 = from.x + from.width;
  const y0 = from.y + from.height / 2;
  const x1 = to.x;
  const y1 = to.y + to.height / 2;
  const bend = Math.max(Math.abs(x1 - x0) / 2, 26);
  context.strokeStyle = palette.arrow;
  context.fillStyle = palette.arrow;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - ARROW_HEAD, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - ARROW_HEAD - 2, y1 - ARROW_HEAD + 1);
  context.lineTo(x1 - ARROW_HEAD - 2, y1 + ARROW_HEAD - 1);
  context.fill();
}

/** The use of the whole profile, and its steps: it changes with the data only. */
export function drawOverviewGround(
  context: CanvasRenderingContext2D,
  whole: View,
  width: number,
  height: number,
  palette: Palette,
  slabs: Slab[],
  steps: Steps,
): void {
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, height);
  const cover = new Float32Array(Math.max(Math.floor(width), 1));
  const each = height / Math.max(slabs.length, 1);
  slabs.forEach((slab, at) => {
    coverage(slab, whole, cover);
    context.fillStyle = palette.busy;
    for (let x = 0; x < cover.length; x += 1) {
      const tall = Math.min(cover[x] as number, 1) * (each - 2);
      if (tall > 0) context.fillRect(x, (at + 1) * each - tall, 1, tall);
    }
  });
  const scale = width / spanOf(whole);
  context.fillStyle = palette.muted;
  let last = -4;
  for (const start of steps.start) {
    const x = (start - whole.t0) * scale;
    if (x - last >= 4) context.fillRect((last = x), 0, 1, 4);
  }
}

/** The window in the overview. */
export function drawOverviewWindow(
  context: CanvasRenderingContext2D,
  whole: View,
  view: View,
  width: number,
  height: number,
  palette: Palette,
): void {
  const scale = width / spanOf(whole);
  const x0 = (view.t0 - whole.t0) * scale;
  const wide = Math.max(spanOf(view) * scale, 3);
  context.fillStyle = palette.surface;
  context.globalAlpha = 0.6;
  context.fillRect(0, 0, x0, height);
  context.fillRect(x0 + wide, 0, width, height);
  context.globalAlpha = 1;
  context.strokeStyle = palette.accent;
  context.lineWidth = 2;
  context.strokeRect(x0 + 1, 1, Math.max(wide - 2, 1), height - 2);
}
