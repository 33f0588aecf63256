// The table twin of a panel: the same values as rows, for reading, for screen readers and for CSV.

import type { Cell, Column, PanelData, Row } from "./types";

export interface Table {
  columns: Column[];
  rows: Row[];
}

export function tableOf(panel: PanelData): Table {
  switch (panel.kind) {
    case "table":
      return { columns: panel.columns, rows: panel.rows };
    case "shares":
    case "bars":
      return {
        columns: [
          { key: "label", label: "Name", unit: "text" },
          { key: "value", label: panel.unit === "ns" ? "Time" : "Count", unit: panel.unit },
          { key: "share", label: "Share", unit: "share" },
        ],
        rows: (panel.kind === "bars" ? panel.rows : panel.parts).map((part) => ({ ...part })),
      };
    case "lines":
      return {
        columns: [
          { key: "series", label: "Line", unit: "text" },
          { key: "x", label: panel.x_unit === "ns" ? "Time" : "Step", unit: panel.x_unit },
          { key: "y", label: "Value", unit: panel.unit },
        ],
        rows: panel.series.flatMap((line) =>
          line.x.map((x, at) => ({ series: line.name, x, y: line.y[at] ?? null })),
        ),
      };
    case "histogram":
      return {
        columns: [
          { key: "from", label: "From", unit: panel.unit },
          { key: "to", label: "To", unit: panel.unit },
          { key: "count", label: "Count", unit: "count" },
        ],
        rows: panel.counts.map((count, at) => ({
          from: panel.edges[at] ?? null,
          to: panel.edges[at + 1] ?? null,
          count,
        })),
      };
    case "stacked":
      return {
        columns: [
          { key: "label", label: "GPU", unit: "text" },
          ...panel.parts.map((part) => ({ ...part, unit: panel.unit })),
          { key: "total", label: panel.total_label ?? "Window", unit: panel.unit },
        ],
        rows: panel.rows.map((row) => ({
          label: row.label,
          total: row.total,
          ...Object.fromEntries(panel.parts.map((part, at) => [part.key, row.values[at] ?? null])),
        })),
      };
    case "empty":
      return { columns: [], rows: [] };
  }
}

/** CSV with units in the head and unrounded values. */
export function toCsv(table: Table): string {
  const head = table.columns.map((column) =>
    quote(["text", "count", "", "row"].includes(column.unit) ? column.label : `${column.label} (${column.unit})`),
  );
  const lines = table.rows.map((row) =>
    table.columns.map((column) => quote(row[column.key] ?? null)).join(","),
  );
  return [head.join(","), ...lines].join("\r\n") + "\r\n";
}

function quote(value: Cell): string {
  if (value === null) return "";
  let text = String(value);
  // A name that begins like a formula must stay a name in a spreadsheet.
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
