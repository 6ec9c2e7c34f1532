import { labelsOf, labelText } from "../lib/labels";
import { place, setParams } from "../state/route";

interface LabelsProps {
  labels: unknown;
  /** The list that a click filters. */
  list?: "/runs" | "/log" | "/flows";
  /** At most so many are shown. */
  most?: number;
}

function isPlain(event: MouseEvent): boolean {
  return !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
}

/** Labels as chips; a click filters the list by that label, and keeps the other filters where one is there already. */
export function Labels({ labels, list = "/runs", most = Infinity }: LabelsProps) {
  const all = labelsOf(labels);
  if (all.length === 0) return null;
  const rest = all.slice(most).map(([key, value]) => labelText(key, value));
  return (
    <span class="labels">
      {all.slice(0, most).map(([key, value]) => (
        <a
          key={key}
          class="label"
          href={`${list}?label=${encodeURIComponent(labelText(key, value))}`}
          title={`Only with ${key}: ${value}`}
          onClick={(event) => {
            if (place.value.path !== list || !isPlain(event)) return;
            event.preventDefault();
            setParams({ label: labelText(key, value), after: null });
          }}
        >
          <span class="label-key">{key}</span> <span class="label-value">{value}</span>
        </a>
      ))}
      {rest.length > 0 && (
        <span class="dim" title={rest.join("\n")}>
          +{rest.length}
        </span>
      )}
    </span>
  );
}
