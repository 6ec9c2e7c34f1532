import { Dialog } from "./dialog";
import { Command } from "./feedback";

interface ShownOnceProps {
  title: string;
  /** What it is for. */
  about: string;
  secret: string;
  onClose: () => void;
}

/** A secret that the server shows this once: to copy, and then it is gone. */
export function ShownOnce({ title, about, secret, onClose }: ShownOnceProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{about}</p>
      <p>
        <Command text={secret} />
      </p>
      <div class="form-actions">
        <button type="button" class="button primary" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
