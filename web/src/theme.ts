import { useSyncExternalStore } from "react";

type Theme = "light" | "dark";

const KEY = "holdfast-theme"; // public/theme.js reads it before the first paint
const system = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

function current(): Theme {
  const chosen = root.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

function choose(theme: Theme): void {
  const asSystem = theme === (system.matches ? "dark" : "light");
  if (asSystem) delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
  try {
    if (asSystem) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage may be blocked; the choice then lasts as long as the page.
  }
  dispatchEvent(new Event("holdfast-theme"));
}

function subscribe(changed: () => void): () => void {
  system.addEventListener("change", changed);
  addEventListener("holdfast-theme", changed);
  return () => {
    system.removeEventListener("change", changed);
    removeEventListener("holdfast-theme", changed);
  };
}

/** The theme in effect and the way to the other one. Going back to the system's own theme forgets the choice. */
export function useTheme(): { theme: Theme; toggle: () => void } {
  const theme = useSyncExternalStore(subscribe, current);
  return { theme, toggle: () => choose(theme === "dark" ? "light" : "dark") };
}
