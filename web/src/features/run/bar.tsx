import { duration, wholeDuration } from "../../lib/time";

/** The least share of the width that can be seen. */
const LEAST = 0.005;

/** A bar where it lies in time; an empty track where nothing of it is in the frame. */
export function Bar({
  place,
  tone,
}: {
  place: { readonly left: number; readonly width: number } | null;
  tone: string;
}) {
  return (
    <svg class="course-bar" width="100%" height="12" aria-hidden="true">
      {place !== null && (
        <rect
          class={`course-fill course-${tone}`}
          x={percent(Math.min(place.left, 1 - LEAST))}
          width={percent(Math.max(place.width, LEAST))}
          height="12"
          rx="2"
        />
      )}
    </svg>
  );
}

/** How long something took, or takes so far. */
export function Length({ from, to, time }: { from: number; to: number | null; time: number }) {
  if (from > time) return <>to come</>;
  if (to === null) return <span class="tone-active">{wholeDuration((time - from) / 1000)} so far</span>;
  return <>{duration((to - from) / 1000)}</>;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}
