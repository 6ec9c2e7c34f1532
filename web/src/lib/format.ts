/** How numbers are written. */

/** `1,234`; digits in groups of three in any language of the browser, so that columns line up. */
export function integer(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** A count that the server stops counting at `cap`: beyond it, `10,000+`. */
export function capped(value: number, cap = 10_000): string {
  return value > cap ? `${integer(cap)}+` : integer(value);
}

/** `7`, `1.2 k`, `34 k`, `1.2 M`: for tiles and axes. */
export function compact(value: number): string {
  if (value < 1000) return Number.isInteger(value) ? String(value) : value.toFixed(1);
  if (value < 10_000) return `${(value / 1000).toFixed(1)} k`;
  if (value < 999_500) return `${Math.round(value / 1000)} k`;
  return `${(value / 1_000_000).toFixed(1)} M`;
}

/** A share from 0 to 1 as `99.9 %`; never rounds a failure away to `100 %`, nor a success to `0 %`. */
export function percent(share: number): string {
  const value = Math.min(1, Math.max(0, share)) * 100;
  if (value === 100 || value === 0) return `${value} %`;
  const digits = value > 99 || value < 1 ? 2 : 1;
  const floor = Math.floor(value * 10 ** digits + 1e-9) / 10 ** digits;
  return floor === 0 ? "< 0.01 %" : `${floor} %`;
}

/** `1 run`, `2 runs`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${integer(count)} ${count === 1 ? one : many}`;
}

/** `1 run`, `10,000+ runs`. */
export function cappedPlural(count: number, one: string, many = `${one}s`): string {
  return `${capped(count)} ${count === 1 ? one : many}`;
}

/** Upper-case enum names as words: `TIMED_OUT` becomes `timed out`. */
export function words(name: string): string {
  return name.toLowerCase().replaceAll("_", " ");
}
