/** What is unknown in a row of stretches. */

/** Where stretches without a figure begin and end, those beside each other together. */
export function gapsOf(unknown: readonly boolean[]): readonly (readonly [first: number, end: number])[] {
  return unknown.flatMap((is, first) => {
    if (!is || unknown[first - 1] === true) return [];
    const end = unknown.indexOf(false, first);
    return [[first, end < 0 ? unknown.length : end] as const];
  });
}
