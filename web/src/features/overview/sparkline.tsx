const WIDTH = 120;
const HEIGHT = 24;

/** A small line without axes; the words give its range. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) return <span class="tile-note">{"\u00a0"}</span>;
  const top = Math.max(1, ...values);
  const stepX = WIDTH / (values.length - 1);
  const points = values.map(
    (value, index) => `${(index * stepX).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 3)).toFixed(1)}`,
  );
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: from ${Math.min(...values)} to ${top}`}
    >
      <polyline class="sparkline-area" points={`0,${HEIGHT} ${points.join(" ")} ${WIDTH},${HEIGHT}`} />
      <polyline class="sparkline-line" points={points.join(" ")} />
    </svg>
  );
}
