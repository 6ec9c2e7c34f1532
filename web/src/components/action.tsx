import type { ButtonHTMLAttributes } from "preact";
import { frozen } from "../live/clock";
import { type Role, whyNot } from "../state/viewer";

/** Keeps what is pressed from happening. */
function refuse(event: Event): void {
  event.preventDefault();
  event.stopPropagation();
}

interface ActionProps extends ButtonHTMLAttributes {
  needs?: Role;
  /** What keeps it from being pressed besides; null for nothing. */
  reason?: string | null;
}

/**
 * A button that changes something on the server: without a connection or the role for it, or for a reason
 * of its own, it cannot be pressed, and says why, to the pointer and to the focus. One that only waits for its own answer is simply disabled.
 */
export function Action({ disabled = false, needs = "OPERATOR", reason = null, title, children, ...attributes }: ActionProps) {
  const obstacle = frozen.value ? "Not possible without a connection" : (whyNot(needs) ?? reason);
  if (obstacle === null) {
    return (
      <button type="button" {...attributes} disabled={disabled} title={title}>
        {children}
      </button>
    );
  }
  return (
    <button type="button" {...attributes} aria-disabled="true" aria-description={obstacle} data-reason={obstacle} title={obstacle} onClick={refuse}>
      {children}
    </button>
  );
}
