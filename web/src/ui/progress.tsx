import { duration } from "../lib/time";

interface ProgressProps {
  progress: { readonly done: number; readonly total: number | null; readonly message: string | null } | null;
}

/** How far a run is: a bar when its end is known, a count when not, nothing when the job does not say. */
export function Progress({ progress }: ProgressProps) {
  if (progress === null) return null;
  const { done, total, message } = progress;
  if (total === null || total <= 0) {
    return (
      <span class="progress-text num">
        {[done > 0 ? String(done) : "", message ?? ""].filter((part) => part !== "").join(" · ")}
      </span>
    );
  }
  const share = Math.min(1, Math.max(0, done / total));
  const text = `${Math.round(share * 100)} %${message === null ? "" : ` · ${message}`}`;
  return (
    <span class="progress">
      <progress max={1} value={share} aria-label={message ?? "Progress"} />
      <span class="progress-text num" title={`${done} of ${total}`}>
        {text}
      </span>
    </span>
  );
}

/** A duration in seconds, or a dash. */
export function Duration({ seconds }: { seconds: number | null | undefined }) {
  return <span class="num">{seconds === null || seconds === undefined ? "–" : duration(seconds)}</span>;
}
