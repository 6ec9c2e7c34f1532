import { useState } from "preact/hooks";
import { clock, countdown, full, moment, relative, wholeDuration, zoneName } from "../lib/time";
import { frozen, now } from "../live/clock";
import { copyText } from "../state/copy";
import { zone } from "../state/prefs";

type Form = "relative" | "moment" | "clock" | "countdown" | "full";

function written(at: number, form: Form): string {
  switch (form) {
    case "relative":
      return relative(at, now.value);
    case "countdown":
      return countdown(at, now.value);
    case "moment":
      // The date changes at midnight only: no need to write this again every second.
      return moment(at, now.peek(), zone.value);
    case "clock":
      return clock(at, zone.value);
    case "full":
      return `${full(at, zone.value)} ${zoneName(at, zone.value)}`;
  }
}

interface TimeProps {
  /** RFC 3339, as the server wrote it. */
  at: string;
  form?: Form;
}

/**
 * A time; the pointer on it gives UTC, local and ISO, a click copies the latter. The switch in the header does the same
 * for keys.
 */
export function Time({ at, form = "relative" }: TimeProps) {
  const [open, setOpen] = useState(false);
  const ticking = form === "relative" || form === "countdown";
  return (
    <time
      dateTime={at}
      class={ticking && frozen.value ? "time frozen" : "time"}
      onPointerEnter={() => setOpen(true)}
      onPointerLeave={() => setOpen(false)}
      onClick={() => void copyText(at, "Time copied")}
    >
      {written(Date.parse(at), form)}
      {open && <TimeCard at={at} />}
    </time>
  );
}

function TimeCard({ at }: { at: string }) {
  const instant = Date.parse(at);
  return (
    <span class="time-card" aria-hidden="true">
      <span>{full(instant, "utc")} UTC</span>
      <span>
        {full(instant, "local")} {zoneName(instant, "local")}
      </span>
      <span class="mono">{at}</span>
      <span class="dim">{relative(instant, now.value)} · click to copy</span>
    </span>
  );
}

/** Time since `since`, ticking; grey and still while the connection is down. */
export function Elapsed({ since }: { since: string }) {
  return (
    <span class={frozen.value ? "num frozen" : "num"}>{wholeDuration((now.value - Date.parse(since)) / 1000)}</span>
  );
}
