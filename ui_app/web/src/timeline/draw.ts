// Draws lanes: rectangles with labels when sparse, one pixel strip per lane when dense, areas for
// utilisation. Nothing here allocates per mark.

import type { Names } from "./names";
import { markIndex, shadeOf, type Palette } from "./palette";
import { areaHeight, eventsTop, LANE_HEIGHT, type ShownRow } from "./rows";
import { spanOf, ticks, type View } from "./time";
import { firstReaching, type Slab } from "./wire";

export const FONT = "11px Inter, system-ui, sans-serif";
/** With more visible marks than this, dense lanes are drawn as strips. */
const STRIP_FROM = 8_000;
const DENSE_LANE = 150;
const LABEL_FROM_PX = 30;
const CHAR_PX = 6.1;
const COMMUNICATION = 2;
const MAX_LABELS = 600;

export interface Scene {
  view: View;
  width: number;
  height: number;
  palette: Palette;
  names: Names;
  rows: { shown: ShownRow; y: number }[];
  slab: (lane: string) => Slab | undefined;
}

export class LaneDrawer {
  /** Marks within the last picture. */
  visible = 0;
  strips = 0;
  #labels = 0;
  #weight = new Float32Array(0);
  #cover = new Float32Array(0);
  #strip = document.createElement("canvas");
  #image: ImageData | undefined;

  draw(context: CanvasRenderingContext2D, scene: Scene): void {
    const { palette, width, height } = scene;
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, width, height);
    drawGrid(context, scene.view, width, height, palette);
    context.font = FONT;
    context.textBaseline = "middle";
    this.#labels = 0;
    this.strips = 0;
    this.visible = countVisible(scene);
    this.#prepare(width);
    for (const { shown, y } of scene.rows) {
      context.fillStyle = palette.grid;
      context.fillRect(0, y + shown.height - 1, width, 1);
      const area = shown.area ? scene.slab(shown.area) : undefined;
      if (area) {
        this.#area(context, scene, area, y + 3, areaHeight(shown) - 5, areaColour(shown, palette));
      }
      shown.events.forEach((lane, at) => {
        const slab = scene.slab(lane);
        if (slab) this.#events(context, scene, slab, y + eventsTop(shown) + at * LANE_HEIGHT);
      });
    }
  }

  #prepare(width: number): void {
    const pixels = Math.max(Math.ceil(width), 1);
    if (this.#weight.length !== pixels) {
      this.#weight = new Float32Array(pixels);
      this.#cover = new Float32Array(pixels);
      this.#strip.width = pixels;
      this.#strip.height = 1;
      this.#image = new ImageData(pixels, 1);
    }
  }

  #events(context: CanvasRenderingContext2D, scene: Scene, slab: Slab, y: number): void {
    const dense = this.visible > STRIP_FROM && visibleIn(slab, scene.view) > DENSE_LANE;
    if (dense) this.#stripOf(context, scene, slab, y);
    else this.#rectangles(context, scene, slab, y);
  }

  #rectangles(context: CanvasRenderingContext2D, scene: Scene, slab: Slab, y: number): void {
    const { view, width, palette, names } = scene;
    const scale = width / spanOf(view);
    const height = LANE_HEIGHT - 2;
    const { start, dur, share, name, category, exact } = slab;
    let last = -1;
    for (let i = firstReaching(slab, view.t0); i < start.length; i += 1) {
      const from = start[i] as number;
      if (from > view.t1) break;
      const x1 = Math.min((from + (dur[i] as number) - view.t0) * scale, width + 2);
      if (x1 < -1) continue;
      const x0 = Math.max((from - view.t0) * scale, -2);
      const wide = Math.max(x1 - x0 - (x1 - x0 > 3 ? 0.75 : 0), 1);
      const hue = names.hues[name[i] as number] as number;
      const colour = markIndex(hue, exact[i] ? 3 : shadeOf(share[i] as number));
      if (colour !== last) context.fillStyle = palette.marks[colour] as string;
      last = colour;
      context.fillRect(x0, y, wide, height);
      if (category[i] === COMMUNICATION && wide > 5) {
        hatch(context, palette, x0, y, wide, height);
        last = -1;
      }
      if (exact[i] && wide > LABEL_FROM_PX && this.#labels < MAX_LABELS) {
        this.#labels += 1;
        context.fillStyle = palette.onMark[hue] as string;
        const room = Math.floor((wide - 7) / CHAR_PX);
        context.fillText(names.label(name[i] as number, room), x0 + 4, y + 8);
        last = -1;
      }
    }
  }

  #stripOf(context: CanvasRenderingContext2D, scene: Scene, slab: Slab, y: number): void {
    const image = this.#image;
    const strip = this.#strip.getContext("2d");
    if (!image || !strip) return;
    this.strips += 1;
    const { view, palette, names } = scene;
    const pixels = image.width;
    const scale = scene.width / spanOf(view);
    const [weight, cover, data] = [this.#weight, this.#cover, image.data];
    weight.fill(0);
    cover.fill(0);
    data.fill(0);
    const { start, dur, share, name } = slab;
    for (let i = firstReaching(slab, view.t0); i < start.length; i += 1) {
      const x0 = ((start[i] as number) - view.t0) * scale;
      if (x0 >= pixels) break;
      const x1 = x0 + (dur[i] as number) * scale;
      if (x1 < 0) continue;
      const first = Math.max(Math.floor(x0), 0);
      const end = Math.min(Math.floor(x1), pixels - 1);
      const colour = palette.rgb[names.hues[name[i] as number] as number] as number[];
      if (first === end && x0 >= 0) {
        // Most marks of a dense lane lie within one pixel.
        const inside = (x1 - x0) * (share[i] as number);
        cover[first] = (cover[first] as number) + inside;
        if (inside < (weight[first] as number)) continue;
        weight[first] = inside;
        data[first * 4] = colour[0] as number;
        data[first * 4 + 1] = colour[1] as number;
        data[first * 4 + 2] = colour[2] as number;
        continue;
      }
      for (let x = first; x <= end; x += 1) {
        const inside = (Math.min(x1, x + 1) - Math.max(x0, x)) * (share[i] as number);
        cover[x] = (cover[x] as number) + inside;
        if (inside < (weight[x] as number)) continue;
        weight[x] = inside;
        data[x * 4] = colour[0] as number;
        data[x * 4 + 1] = colour[1] as number;
        data[x * 4 + 2] = colour[2] as number;
      }
    }
    for (let x = 0; x < pixels; x += 1) {
      const covered = cover[x] as number;
      if (covered > 0) data[x * 4 + 3] = 255 * Math.min(0.35 + 0.65 * covered, 1);
    }
    strip.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#strip, 0, y, pixels, LANE_HEIGHT - 2);
  }

  #area(
    context: CanvasRenderingContext2D,
    scene: Scene,
    slab: Slab,
    y: number,
    height: number,
    colour: string,
  ): void {
    const cover = this.#cover;
    coverage(slab, scene.view, cover);
    context.fillStyle = colour;
    context.beginPath();
    // One outline, with a corner only where the height changes by what can be seen.
    const bottom = y + height;
    let last = bottom;
    let lastX = -1;
    context.moveTo(0, bottom);
    for (let x = 0; x < cover.length; x += 1) {
      const share = Math.min(cover[x] as number, 1);
      const top = share > 0 ? y + Math.round(height * (1 - share) * 2) / 2 : bottom;
      if (top === last) continue;
      if (x > lastX + 1) context.lineTo(x, last);
      context.lineTo(x, top);
      last = top;
      lastX = x;
    }
    context.lineTo(cover.length, last);
    context.lineTo(cover.length, bottom);
    context.fill();
  }
}

function drawGrid(
  context: CanvasRenderingContext2D,
  view: View,
  width: number,
  height: number,
  palette: Palette,
): void {
  const scale = width / spanOf(view);
  context.fillStyle = palette.line;
  context.globalAlpha = 0.6;
  for (const t of ticks(view, width).at) {
    context.fillRect(Math.round((t - view.t0) * scale), 0, 1, height);
  }
  context.globalAlpha = 1;
}

/** Busy share of each pixel of a view. */
export function coverage(slab: Slab, view: View, into: Float32Array): void {
  into.fill(0);
  const pixels = into.length;
  const scale = pixels / spanOf(view);
  const { start, dur, share } = slab;
  for (let i = firstReaching(slab, view.t0); i < start.length; i += 1) {
    const x0 = ((start[i] as number) - view.t0) * scale;
    if (x0 >= pixels) break;
    const x1 = x0 + (dur[i] as number) * scale;
    if (x1 <= 0) continue;
    const end = Math.min(Math.ceil(x1), pixels);
    for (let x = Math.max(Math.floor(x0), 0); x < end; x += 1) {
      const inside = Math.min(x1, x + 1) - Math.max(x0, x);
      into[x] = (into[x] as number) + inside * (share[i] as number);
    }
  }
}

/** How many marks of a slab a view may show. */
export function visibleIn(slab: Slab, view: View): number {
  let low = 0;
  let high = slab.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((slab.start[middle] as number) < view.t1) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - firstReaching(slab, view.t0), 0);
}

function countVisible(scene: Scene): number {
  let total = 0;
  for (const { shown } of scene.rows) {
    for (const lane of shown.events) {
      const slab = scene.slab(lane);
      if (slab) total += visibleIn(slab, scene.view);
    }
  }
  return total;
}

function areaColour(shown: ShownRow, palette: Palette): string {
  if (shown.row.kind === "value") return palette.value;
  return shown.row.id.endsWith(".comm") ? palette.comm : palette.busy;
}

/** Communication is told from compute by hatching too, not by colour alone. */
function hatch(
  context: CanvasRenderingContext2D,
  palette: Palette,
  x: number,
  y: number,
  width: number,
  height: number,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = palette.surface;
  context.globalAlpha = 0.45;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
