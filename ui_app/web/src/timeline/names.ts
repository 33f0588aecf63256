// Names of events as numbers, with the colour each has everywhere in the app.

import { hueOf } from "../lib/colour";

export class Names {
  readonly texts: string[] = [];
  readonly hues: number[] = [];
  #ids = new Map<string, number>();

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
}
