import type { ButtonHTMLAttributes } from "preact";
import { frozen } from "../live/clock";

/** A button that changes something on the server: without a connection it cannot be pressed, and says why. */
export function Action({ disabled = false, title, children, ...attributes }: ButtonHTMLAttributes) {
  return (
    <button type="button" {...attributes} disabled={disabled === true || frozen.value} title={frozen.value ? "Not possible without a connection" : title}>
      {children}
    </button>
  );
}
