/** Something in a chart that can be pointed at or reached by the arrow keys. */
export interface Mark {
  x: number;
  y: number;
  title: string;
  lines: { label: string; value: string; colour?: string }[];
}
