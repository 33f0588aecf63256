// Charts as files: SVG with its colours resolved, PNG drawn from it, CSV from the table twin.

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "font-family",
  "font-size",
  "font-weight",
  "font-variant-numeric",
  "text-anchor",
  "dominant-baseline",
  "opacity",
];
const MARGIN = 16;
const TITLE_HEIGHT = 28;

export function saveText(text: string, name: string, type: string): void {
  save(new Blob([text], { type: `${type};charset=utf-8` }), name);
}

export function saveSvg(chart: SVGSVGElement, title: string, name: string): void {
  saveText(standalone(chart, title).text, `${name}.svg`, "image/svg+xml");
}

export async function savePng(chart: SVGSVGElement, title: string, name: string): Promise<void> {
  const { text, width, height } = standalone(chart, title);
  const image = new Image();
  const loaded = new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = () => reject(new Error("The chart could not be drawn."));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await loaded;
  const canvas = document.createElement("canvas");
  canvas.width = width * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The chart could not be drawn.");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob) save(blob, `${name}.png`);
}

function standalone(chart: SVGSVGElement, title: string) {
  const box = chart.getBoundingClientRect();
  const width = Math.ceil(box.width) + 2 * MARGIN;
  const height = Math.ceil(box.height) + 2 * MARGIN + TITLE_HEIGHT;
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const from = [chart, ...chart.querySelectorAll<SVGElement>("*")];
  const to = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[at]?.setAttribute(name, style.getPropertyValue(name));
    to[at]?.removeAttribute("class");
  });
  copy.setAttribute("x", String(MARGIN));
  copy.setAttribute("y", String(MARGIN + TITLE_HEIGHT));
  const page = getComputedStyle(document.documentElement);
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  const surface = chart.closest(".panel");
  ground.setAttribute("fill", surface ? getComputedStyle(surface).backgroundColor : "white");
  const heading = document.createElementNS("http://www.w3.org/2000/svg", "text");
  heading.textContent = title;
  heading.setAttribute("x", String(MARGIN));
  heading.setAttribute("y", String(MARGIN + 12));
  heading.setAttribute("font-size", "14");
  heading.setAttribute("font-weight", "600");
  heading.setAttribute("font-family", page.fontFamily);
  heading.setAttribute("fill", getComputedStyle(chart).color);
  root.append(ground, heading, copy);
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
