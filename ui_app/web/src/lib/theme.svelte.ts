// Light or dark: as the system says until the user chooses; the choice stays in this browser.

export type Theme = "light" | "dark";
const KEY = "tracemill-theme";

class ThemeChoice {
  #system = window.matchMedia("(prefers-color-scheme: dark)");
  #systemDark = $state(this.#system.matches);
  #chosen = $state<Theme | null>((document.documentElement.dataset["theme"] as Theme) ?? null);

  constructor() {
    this.#system.addEventListener("change", (event) => (this.#systemDark = event.matches));
  }

  get current(): Theme {
    return this.#chosen ?? (this.#systemDark ? "dark" : "light");
  }

  /** What the user chose; null follows the system. */
  get chosen(): Theme | null {
    return this.#chosen;
  }

  toggle(): void {
    const next: Theme = this.current === "dark" ? "light" : "dark";
    const system: Theme = this.#systemDark ? "dark" : "light";
    this.choose(next === system ? null : next);
  }

  choose(theme: Theme | null): void {
    this.#chosen = theme;
    if (this.#chosen) document.documentElement.dataset["theme"] = this.#chosen;
    else delete document.documentElement.dataset["theme"];
    try {
      if (this.#chosen) localStorage.setItem(KEY, this.#chosen);
      else localStorage.removeItem(KEY);
    } catch {
      // Without storage the choice lasts until the page is left.
    }
  }
}

export const theme = new ThemeChoice();
