import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Role } from "../live/viewer";
import { Action } from "./action";
import { Dialog } from "./dialog";

interface ConfirmProps {
  title: string;
  action: string;
  danger?: boolean;
  /** The role that it needs. */
  needs?: Role;
  onClose: () => void;
  onConfirm: () => Promise<void>;
  children: ComponentChildren;
}

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  action,
  danger = false,
  needs = "OPERATOR",
  onClose,
  onConfirm,
  children,
}: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    await onConfirm();
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div>{children}</div>
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          Keep it
        </button>
        <Action
          class={danger ? "button danger" : "button primary"}
          needs={needs}
          disabled={busy}
          onClick={() => void confirm()}
        >
          {action}
        </Action>
      </div>
    </Dialog>
  );
}
