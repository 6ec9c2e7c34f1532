import { shortDay } from "../../lib/time";
import { zone, zoneWord } from "../../state/prefs";
import { searchParams } from "../../state/route";
import { LivePart } from "../../ui/live-part";
import { Section } from "../../ui/section";
import { type PlannedLoad, usePlannedLoad } from "./load-document";
import { type CalendarHour, calendarOf, daysFrom, HOUR, hourKey, tasksWord } from "./model";

const DAYS = 7;
const NAMED = 2;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;

function weekdayOf(at: number): string {
  const date = new Date(at);
  return WEEKDAYS[zone.value === "utc" ? date.getUTCDay() : date.getDay()] ?? "";
}

/** The days that the calendar shows, and the end of the last. */
function week(now: number) {
  const days = daysFrom(now, DAYS + 1, zone.value);
  return { from: days[0] ?? now, to: days[DAYS] ?? now };
}

/** What is due in each hour of seven days, those that come rarely by name. */
export function Week({ filter }: { filter: Record<string, unknown> | null }) {
  const live = usePlannedLoad("HOUR", filter, week);
  return (
    <Section title="Seven days" aside={<span class="dim">{zoneWord()}; what comes rarely is named</span>}>
      <LivePart live={live} rows={12}>
        {(load) => <Calendar load={load} />}
      </LivePart>
    </Section>
  );
}

function Calendar({ load }: { load: PlannedLoad }) {
  const days = daysFrom(load.from, DAYS, zone.value);
  const hours = calendarOf(load.points, zone.value);
  const used = Array.from({ length: 24 }, (_, hour) => hour).filter((hour) =>
    days.some((day) => hours.has(keyOf(day, hour))),
  );
  if (used.length === 0) return <p class="pad dim">Nothing is planned in these days.</p>;
  return (
    <div class="week-scroll" tabIndex={0} role="group" aria-label="Calendar of the week">
      <table class="week">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Hour</span>
            </th>
            {days.map((day) => (
              <th key={day} scope="col">
                {weekdayOf(day)} {shortDay(day, zone.value)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {used.map((hour) => (
            <tr key={hour}>
              <th scope="row" class="num">
                {String(hour).padStart(2, "0")}:00
              </th>
              {days.map((day) => {
                const found = hours.get(keyOf(day, hour));
                // Of what lies behind the last hour that was counted, nothing is known.
                if (found === undefined)
                  return day + hour * HOUR < load.known ? (
                    <td key={day} />
                  ) : (
                    <td key={day} class="dim">
                      not counted
                    </td>
                  );
                return (
                  <td key={day}>
                    <a class="week-hour" href={agendaOf(found)} title={found.names.join(", ")}>
                      {found.names.slice(0, NAMED).map((name) => (
                        <span key={name} class="week-name">
                          {name}{" "}
                        </span>
                      ))}
                      {found.tasks > Math.min(NAMED, found.names.length) && (
                        <span class="dim">{tasksWord(found.tasks)}</span>
                      )}
                    </a>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The agenda of an hour, with the filters that the calendar has. */
function agendaOf({ from, to }: CalendarHour): string {
  const there = new URLSearchParams(searchParams.value);
  there.delete("view");
  there.set("from", new Date(from).toISOString());
  there.set("to", new Date(to).toISOString());
  return `/schedule?${there.toString()}`;
}

/** Where the calendar has an hour of a day, as `calendarOf` names it. */
function keyOf(day: number, hour: number): string {
  return `${hourKey(day, zone.value).slice(0, 11)}${String(hour).padStart(2, "0")}`;
}
