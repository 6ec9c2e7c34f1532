import { serverNow } from "../live/clock";
import { dayWords, stripOf } from "../model/calendar-strip";

interface CalendarStripProps {
  times: readonly string[];
  timezone: string;
  /** There are more times than these. */
  cut: boolean;
}

const WEEKDAYS = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The next weeks at a glance: on which days a schedule is due, where weekends lie, and where clocks change. */
export function CalendarStrip({ times, timezone, cut }: CalendarStripProps) {
  const days = stripOf(times, timezone, serverNow(), cut);
  if (days.length === 0) return null;
  return (
    <ol class="calendar-strip" aria-label="The next days" tabIndex={0}>
      {days.map((day, index) => {
        const [, month = "1", date = ""] = day.date.split("-");
        const weekday = WEEKDAYS[new Date(`${day.date}T00:00:00Z`).getUTCDay()] ?? "";
        const words = `${weekday} ${Number(date)} ${MONTHS[Number(month) - 1] ?? ""}: ${dayWords(day)}`;
        return (
          <li key={day.date} class={`calendar-day ${day.weekend ? "weekend" : ""} ${day.times.length > 0 ? "due" : ""}`} title={words}>
            <span class="visually-hidden">{words}</span>
            <span aria-hidden="true">{index === 0 || date === "01" ? (MONTHS[Number(month) - 1] ?? "") : weekday}</span>
            <span aria-hidden="true" class="num calendar-date">
              {Number(date)}
            </span>
            <span aria-hidden="true" class="num">
              {day.times.length > 1 ? `×${day.times.length}` : day.times.length === 1 ? (day.times[0] ?? "").slice(0, 5) : "\u00a0"}
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
  );
}
