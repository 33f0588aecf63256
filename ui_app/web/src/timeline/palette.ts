// The app's colours as the canvas needs them, read again when the theme changes.

export const HUES = 12;
const SHADES = 4;

export interface Palette {
  /** Colour of hue h at share s: `marks[h * SHADES + s]`; the last shade is the full colour. */
  marks: string[];
  /** The same as packed little-endian RGBA for pixel strips, full colour only. */
  rgb: [number, number, number][];
  /** Text colour that reads on hue h. */
  onMark: string[];
  surface: string;
  surfaceRgb: [number, number, number];
  raised: string;
  text: string;
  muted: string;
  line: string;
  grid: string;
  accent: string;
  arrow: string;
  busy: string;
  comm: string;
  value: string;
}

export const shadeOf = (share: number): number =>
  share >= 0.75 ? 3 : share >= 0.5 ? 2 : share >= 0.25 ? 1 : 0;
export const markIndex = (hue: number, shade: number): number => hue * SHADES + shade;

export function readPalette(host: HTMLElement): Palette {
  const probe = document.createElement("span");
  probe.style.display = "none";
  host.append(probe);
  const read = (name: string): [number, number, number] => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
    return [Number(parts[0] ?? 0), Number(parts[1] ?? 0), Number(parts[2] ?? 0)];
  };
  const css = (name: string) => text(read(name));
  const surfaceRgb = read("surface");
  const rgb = Array.from({ length: HUES }, (_, hue) => read(`hue-${hue}`));
  const marks = rgb.flatMap((colour) =>
    [0.4, 0.6, 0.8, 1].map((share) => text(mix(surfaceRgb, colour, share))),
  );
  const palette: Palette = {
    marks,
    rgb,
    onMark: rgb.map((colour) => (luminance(colour) > 0.18 ? "#0b0f14" : "#ffffff")),
    surface: text(surfaceRgb),
    surfaceRgb,
    raised: css("raised"),
    text: css("text"),
    muted: css("muted"),
    line: css("line"),
    grid: css("grid"),
    accent: css("accent"),
    arrow: css("arrow"),
    busy: css("busy"),
    comm: css("comm"),
    value: css("hue-2"),
  };
  probe.remove();
  return palette;
}

const text = ([r, g, b]: readonly number[]): string =>
  `rgb(${Math.round(r ?? 0)},${Math.round(g ?? 0)},${Math.round(b ?? 0)})`;

const mix = (a: readonly number[], b: readonly number[], share: number): number[] =>
  a.map((value, at) => value + ((b[at] ?? 0) - value) * share);

function luminance(colour: readonly number[]): number {
  const [r = 0, g = 0, b = 0] = colour.map((value) => {
    const c = value / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
