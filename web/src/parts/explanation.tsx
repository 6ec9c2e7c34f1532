import { inZone } from "../lib/time";
import { zone } from "../state/prefs";
import { Time } from "../ui/time";

interface ExplanationProps {
  explain: { readonly sentence: string; readonly details: readonly string[]; readonly changesAt: string | null };
}

/** The server's "…, in 14 s." is true only for a moment: the page shows the same as a time that ticks. */
function withoutCountdown(sentence: string): string {
  return sentence.replace(/, in [^,.]+\.$/, ".");
}

/** Why something is as it is, and what happens next, in the server's words. */
export function ExplanationView({ explain }: ExplanationProps) {
  return (
    <div class="explain">
      <p class="explain-sentence">
        {inZone(explain.changesAt === null ? explain.sentence : withoutCountdown(explain.sentence), zone.value)}
        {explain.changesAt !== null && (
          <>
            {" "}
            <span class="dim">
              (<Time at={explain.changesAt} />)
            </span>
          </>
        )}
      </p>
      {explain.details.length > 0 && (
        <ul class="bullets dim">
          {explain.details.map((detail) => (
            <li key={detail}>{inZone(detail, zone.value)}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
