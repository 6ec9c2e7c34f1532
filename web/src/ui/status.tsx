import { statusView } from "../lib/status";
import { Icon } from "./icon";

/** Icon, word and colour of a state or outcome. */
export function Status({ name, title }: { name: string; title?: string | undefined }) {
  const view = statusView(name);
  return (
    <span class={`status tone-${view.tone}`} title={title}>
      <Icon name={view.icon} />
      <span>{view.word}</span>
    </span>
  );
}
