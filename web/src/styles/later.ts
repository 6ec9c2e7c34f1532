/** Code that comes with the style that the overview and the frame do without. */
export function styled<T>(code: Promise<T>): Promise<T> {
  return import("./later.css").then(() => code);
}
