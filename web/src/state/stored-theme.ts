export type Theme = "auto" | "light" | "dark";

const THEMES: readonly Theme[] = ["auto", "light", "dark"];

/** Where the choice is kept; the explorer and the page of sign-in read it too. */
export const THEME_KEY = "cronograph.theme";

/** The theme that was chosen in this browser: light, dark, or as the system has it. */
export function storedTheme(): Theme {
  const value = localStorage.getItem(THEME_KEY);
  return THEMES.find((theme) => theme === value) ?? "auto";
}
