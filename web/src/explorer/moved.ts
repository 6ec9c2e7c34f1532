/** The values with one of them at the place of another. */
export function moved<Value extends { readonly id: string }>(
  values: readonly Value[],
  one: string,
  place: string,
): Value[] {
  const taken = values.find((value) => value.id === one);
  const to = values.findIndex((value) => value.id === place);
  if (!taken || to < 0) return [...values];
  return values.filter((value) => value !== taken).toSpliced(to, 0, taken);
}
