import type { ButtonHTMLAttributes } from "preact";
import { frozen } from "../live/clock";
import { type Role, whyNot } from "../state/viewer";

/** A button that changes something on the server: without a connection or the role for it it cannot be pressed, and says why. */
export function Action({ disabled = false, needs = "OPERATOR", title, children, ...attributes }: ButtonHTMLAttributes & { needs?: Role }) {
  const obstacle = frozen.value ? "Not possible without a connection" : whyNot(needs);
  return (
    <button type="button" {...attributes} disabled={disabled === true || obstacle !== null} title={obstacle ?? title}>
      {children}
    </button>
  );
}
