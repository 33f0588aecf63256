// Axes whose ticks are round numbers of the unit they are written in.

import { scaleLinear, type ScaleLinear } from "d3-scale";
import { write } from "../lib/format";
import type { Unit } from "../lib/types";
import { textWidth } from "./text";

export interface Tick {
  at: number;
  label: string;
}

export interface Axis {
  scale: ScaleLinear<number, number>;
  ticks: Tick[];
}

const NS_UNITS: [number, string][] = [
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Size and name of the unit that writes values up to `largest` with few digits. */
function unitFor(unit: Unit, largest: number): [number, string] {
  if (unit === "share") return [0.01, " %"];
  if (unit !== "ns") return [1, ""];
  const [size, name] = NS_UNITS.find(([size]) => largest >= 2 * size) ?? [1, "ns"];
  return [size, ` ${name}`];
}

/** Whether a label of a horizontal axis keeps clear of the one before (up an axis they always do). */
function roomBefore(before: Tick | undefined, tick: Tick): boolean {
  if (!before || tick.at < before.at) return true;
  return tick.at - before.at > 1.5 * textWidth(tick.label, 11) + 6;
}

export function axisOf(
  unit: Unit,
  domain: [number, number],
  range: [number, number],
  wanted: number,
  nice = false,
): Axis {
  const [size, suffix] = unitFor(unit, Math.max(Math.abs(domain[0]), Math.abs(domain[1])));
  const inUnit = scaleLinear([domain[0] / size, domain[1] / size], range);
  if (nice) inUnit.nice(wanted);
  const numbers = inUnit.ticks(wanted);
  const format = inUnit.tickFormat(wanted);
  const whole = unit === "step" || unit === "count";
  const ticks = numbers
    .filter((value) => !whole || Number.isInteger(value))
    .map((value) => ({
      at: inUnit(value),
      label: unit === "bytes" || whole ? write(value, unit) : `${format(value)}${suffix}`,
    }));
  return {
    scale: scaleLinear(
      inUnit.domain().map((value) => value * size),
      range,
    ),
    ticks: ticks.filter((tick, at) => roomBefore(ticks[at - 1], tick)),
  };
}
