/** Code that comes with the style that the overview and the frame do without. */
export async function styled<T>(code: Promise<T>): Promise<T> {
  const [module] = await Promise.all([code, import("./later.css")]);
  return module;
}
