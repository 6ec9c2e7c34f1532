import { inZone } from "../lib/time";
import type { PreviewParts } from "../services/previews";
import { zone } from "../state/prefs";
import { ExplanationView } from "./explanation";

/** Runs that are shown one by one. */
const SHOWN = 5;

/** What an enqueue would do, and which limits it would meet. */
export function PreviewView({ preview }: { preview: PreviewParts }) {
  const [only, ...others] = preview.runs;
  return (
    <div class="explain" role="status">
      <p class="explain-sentence">
        <strong>Dry run:</strong> {inZone(preview.sentence, zone.value)}
      </p>
      {only !== undefined && others.length === 0 ? (
        <>
          <p>{inZone(only.sentence, zone.value)}</p>
          {only.explanation !== null && <ExplanationView explain={only.explanation} />}
        </>
      ) : (
        <ul class="bullets dim">
          {preview.runs.slice(0, SHOWN).map((run, place) => (
            <li key={place}>
              {inZone([run.sentence, run.explanation?.sentence].filter(Boolean).join(" "), zone.value)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
