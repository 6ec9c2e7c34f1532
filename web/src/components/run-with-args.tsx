import { useState } from "preact/hooks";
import { readArgs } from "../model/task-form";
import { ArgsEditor } from "./args-editor";
import { Dialog } from "./dialog";

interface RunWithArgsProps {
  title: string;
  action: string;
  args: unknown;
  schema: unknown;
  onClose: () => void;
  /** Answers whether it went well: the dialog then closes. */
  onRun: (args: Record<string, unknown>) => Promise<boolean>;
}

/** Asks for the arguments of one run. */
export function RunWithArgs({ title, action, args, schema, onClose, onRun }: RunWithArgsProps) {
  const [text, setText] = useState(() => JSON.stringify(args ?? {}, null, 2));
  const [error, setError] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const read = readArgs(text);
    if (typeof read === "string") {
      setError(read);
      return;
    }
    setBusy(true);
    const done = await onRun(read);
    setBusy(false);
    if (done) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose} wide>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <ArgsEditor value={text} onChange={setText} schema={schema} error={error} />
        <div class="form-actions">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={busy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
