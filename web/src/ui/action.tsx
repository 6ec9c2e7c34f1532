import type { ButtonHTMLAttributes } from "preact";
import { frozen } from "../live/clock";
import { type Role, whyNot } from "../live/viewer";

/**
 * Keeps what is pressed from happening; with the focus it shows why, to a finger too, which gives it to no button by
 * itself.
 */
function refuse(event: MouseEvent): void {
  event.preventDefault();
  event.stopPropagation();
  if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus();
}

interface ButtonProps extends ButtonHTMLAttributes {
  /** What keeps it from being pressed; null for nothing. */
  reason?: string | null;
}

/**
 * A button that says why it cannot be pressed, to the pointer and to the focus. One that is disabled, since it waits
 * for its own answer, keeps the focus, which a browser takes from elements with the attribute `disabled`.
 */
export function Button({ disabled = false, reason = null, title, children, ...attributes }: ButtonProps) {
  if (reason === null && disabled !== true) {
    return (
      <button type="button" {...attributes} title={title}>
        {children}
      </button>
    );
  }
  return (
    <button
      type="button"
      {...attributes}
      aria-disabled="true"
      aria-description={reason ?? undefined}
      data-reason={reason ?? undefined}
      title={reason ?? title}
      onClick={refuse}
    >
      {children}
    </button>
  );
}

interface ActionProps extends ButtonProps {
  needs?: Role;
}

/**
 * A button that changes something on the server: it needs a connection and a role, and may have a reason of its own
 * besides.
 */
export function Action({ needs = "OPERATOR", reason = null, ...rest }: ActionProps) {
  return <Button {...rest} reason={frozen.value ? "Not possible without a connection" : (whyNot(needs) ?? reason)} />;
}
