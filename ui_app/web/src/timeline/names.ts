// Names of events as numbers, with the colour each has everywhere in the app.

import { hueOf } from "../lib/colour";

/** Shorter labels than this say nothing. */
const FEWEST_CHARS = 3;

export class Names {
  readonly texts: string[] = [];
  readonly hues: number[] = [];
  #ids = new Map<string, number>();
  #brief: (string | undefined)[] = [];

  idOf(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.texts.length;
      this.#ids.set(text, id);
      this.texts.push(text);
      this.hues.push(hueOf(text));
    }
    return id;
  }

  /** What of a name is written into a rectangle with room for so many characters. */
  label(id: number, room: number): string {
    const text = this.texts[id] as string;
    if (text.length <= room) return text;
    if (room < FEWEST_CHARS) return "";
    const brief = (this.#brief[id] ??= briefly(text));
    return brief.length <= room ? brief : `${brief.slice(0, room - 1)}…`;
  }
}

/** A C++ name without its return type, namespaces, template arguments and parameters. */
export function briefly(text: string): string {
  const plain = text.replace(/^(?:void|static|bool|int|float) +/, "");
  const name = /^[^<( ]*/.exec(plain)?.[0] ?? "";
  const last = name.slice(name.lastIndexOf("::") + 2);
  return name.includes("::") && last ? last : plain;
}
