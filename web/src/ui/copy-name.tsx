import { useState } from "preact/hooks";
import { copyText } from "../state/copy";
import { Icon } from "./icon";

/** Copies a name in full, which its place may show cut; `y` does so in a row. */
export function CopyName({ name }: { name: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    setCopied(await copyText(name, `${name} copied`));
  };
  return (
    <button
      type="button"
      class="copy-name"
      data-key="y"
      aria-label={`Copy ${name}`}
      title={copied ? "Copied" : `Copy ${name} (y)`}
      onClick={() => void copy()}
    >
      <Icon name={copied ? "check" : "copy"} />
    </button>
  );
}
