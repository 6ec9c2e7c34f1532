import { plural } from "../../lib/format";
import { statusView } from "../../lib/status";
import { type StripOccurrence, stripBars } from "../../lib/strip";
import { clock, duration } from "../../lib/time";
import { zone } from "../../state/prefs";

const BAR = 3.2;
const HEIGHT = 24;

interface StripProps {
  occurrences: readonly StripOccurrence[];
  /** How many bars fit; the newest are shown. */
  count?: number;
  label: string;
  /** Fills the width of its place. */
  wide?: boolean;
}

/** The last occurrences of a task as bars: colour = outcome, height = duration, a stub = skipped. */
export function Strip({ occurrences, count = 60, label, wide = false }: StripProps) {
  const bars = stripBars(occurrences, duration).slice(-count);
  const failed = bars.filter((bar) => bar.status === "FAILED").length;
  const skipped = bars.filter((bar) => bar.status === "SKIPPED").length;
  const summary =
    bars.length === 0
      ? "no occurrences yet"
      : `${plural(bars.length, "occurrence")}, ${failed} failed, ${skipped} skipped`;
  const left = (count - bars.length) * BAR;
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${count * BAR} ${HEIGHT}`}
      width={count * BAR}
      height={HEIGHT}
      preserveAspectRatio={wide ? "none" : "xMaxYMid"}
      role="img"
      aria-label={`${label}: ${summary}`}
    >
      <line x1="0" x2={count * BAR} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} class="strip-ground" />
      {bars.map((bar, index) => {
        const height = bar.status === "SKIPPED" ? 4 : 5 + bar.height * (HEIGHT - 6);
        return (
          <rect
            key={bar.key}
            class={`fill-${statusView(bar.status).tone}`}
            x={left + index * BAR}
            y={HEIGHT - 1 - height}
            width={BAR - 0.8}
            height={height}
          >
            <title>{`${clock(Date.parse(bar.at), zone.value)} ${bar.text}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
