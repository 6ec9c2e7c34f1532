/**
 * Where the dashboard lies on its host: nothing, or a path without a slash at its end. The server writes it into the
 * page when an application has mounted it somewhere.
 */
export const base: string = readBase(typeof document === "undefined" ? null : document.querySelector("base"));

/** What the element says. */
export function readBase(element: Pick<Element, "getAttribute"> | null): string {
  return (element?.getAttribute("href") ?? "").replace(/\/+$/, "");
}

/** The address on the host of a path of the dashboard or of its server, which begins with a slash. */
export function at(path: string, from: string = base): string {
  return path.startsWith("/") ? from + path : path;
}

/** The path within the dashboard behind a path of the host. */
export function within(path: string, from: string = base): string {
  if (from === "" || !(path === from || path.startsWith(`${from}/`))) return path;
  return path.slice(from.length) || "/";
}
