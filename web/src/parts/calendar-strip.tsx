import { useMemo } from "preact/hooks";
import { serverNow } from "../live/clock";
import { dayName, dayWords, monthOf, nextShift, shiftWords, stripOf, weekdayOf } from "../model/calendar-strip";

interface CalendarStripProps {
  times: readonly string[];
  timezone: string;
  /** There are more times than these. */
  cut: boolean;
}

const DAY = 86_400_000;

/**
 * The next weeks at a glance: on which days a schedule is due, which are weekends, and where clocks change; below it
 * the next change, which may be months away.
 */
export function CalendarStrip({ times, timezone, cut }: CalendarStripProps) {
  const now = serverNow();
  const days = stripOf(times, timezone, now, cut);
  const today = Math.floor(now / DAY);
  const shift = useMemo(() => nextShift(timezone, now), [timezone, today]);
  if (days.length === 0) return null;
  return (
    <>
      <ol class="calendar-strip" aria-label="The next days" tabIndex={0}>
        {days.map((day, index) => {
          const date = day.date.slice(8);
          const words = `${dayName(day.date)}: ${dayWords(day)}`;
          return (
            <li
              key={day.date}
              class={`calendar-day ${day.weekend ? "weekend" : ""} ${day.times.length > 0 ? "due" : ""}`}
              title={words}
            >
              <span class="visually-hidden">{words}</span>
              <span aria-hidden="true">{index === 0 || date === "01" ? monthOf(day.date) : weekdayOf(day.date)}</span>
              <span aria-hidden="true" class="num calendar-date">
                {Number(date)}
              </span>
              <span aria-hidden="true" class="num">
                {day.times.length > 1
                  ? `×${day.times.length}`
                  : day.times.length === 1
                    ? (day.times[0] ?? "").slice(0, 5)
                    : "\u00a0"}
              </span>
              {day.shift !== 0 && (
                <span aria-hidden="true" class="calendar-shift">
                  {day.shift > 0 ? "+" : "−"}
                  {Math.abs(day.shift) / 60} h
                </span>
              )}
            </li>
          );
        })}
      </ol>
      {shift !== null && <p class="calendar-note dim">{shiftWords(shift, timezone)}.</p>}
    </>
  );
}
