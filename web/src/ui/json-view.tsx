import { copyText } from "../state/copy";
import { Icon } from "./icon";

/** A JSON value, indented, to read and to copy. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  return <CodeView text={JSON.stringify(value ?? null, null, 2)} label={label} />;
}

/** Code to read and to copy. */
export function CodeView({ text, label }: { text: string; label: string }) {
  return (
    <div class="code-block">
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <button
        type="button"
        class="icon-button code-copy"
        aria-label={`Copy ${label}`}
        onClick={() => void copyText(text, `${label} copied`)}
      >
        <Icon name="copy" />
      </button>
    </div>
  );
}
