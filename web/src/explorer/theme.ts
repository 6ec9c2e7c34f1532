import type { Theme } from "@graphiql/react";

/** The theme chosen on the dashboard (`light`, `dark`, or null to follow the system), so that both pages look alike. */
export function readTheme(): Theme {
  const stored = localStorage.getItem("cronograph.theme");
  return stored === "light" || stored === "dark" ? stored : null;
}
