import { full, sameClock, zonedClock, zoneName } from "../lib/time";
import { Time } from "../ui/time";

interface NextTimesProps {
  /** RFC 3339, as the server computed them; the browser only writes them down. */
  times: readonly string[];
  /** The zone of the schedule. */
  timezone: string;
}

/**
 * The next times of a schedule: in UTC, on the clock of its zone and on the reader's where those differ, and seen from
 * now.
 */
export function NextTimes({ times, timezone }: NextTimesProps) {
  const instants = times.map((at) => Date.parse(at));
  const ofZone = timezone !== "" && instants.some((at) => zonedClock(at, timezone) !== full(at, "utc"));
  const ofReader = !instants.every((at) => sameClock(at, timezone));
  return (
    <div class="next-times-frame" tabIndex={0}>
      <table class="next-times">
        <thead>
          <tr>
            <th>UTC</th>
            {ofZone && <th>{timezone}</th>}
            {ofReader && <th class="of-reader">Here ({zoneName(instants[0] ?? 0, "local")})</th>}
            <th>
              <span class="visually-hidden">From now</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {times.map((at) => (
            <tr key={at}>
              <td>{full(Date.parse(at), "utc")}</td>
              {ofZone && <td>{zonedClock(Date.parse(at), timezone)}</td>}
              {ofReader && <td class="of-reader">{full(Date.parse(at), "local")}</td>}
              <td class="dim">
                <Time at={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
