// How wide text is, so that names are shortened only where they must be.

import { shorten } from "../lib/format";

const LONGEST = 600;
const context = document.createElement("canvas").getContext("2d");

export function textWidth(text: string, size = 12): number {
  if (!context) return text.length * size * 0.6;
  context.font = `${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
  return context.measureText(text).width;
}

/** Shorten text in its middle until it fits into `room` pixels. */
export function fit(text: string, room: number, size = 12): string {
  let short = shorten(text, LONGEST);
  let width = textWidth(short, size);
  while (width > room && short.length > 1) {
    short = shorten(text, Math.min(short.length - 1, Math.floor((short.length * room) / width)));
    width = textWidth(short, size);
  }
  return short;
}
