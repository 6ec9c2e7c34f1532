import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";

interface DialogProps {
  title: string;
  /** Asked to close: Escape, the cross, a click outside. */
  onClose: () => void;
  wide?: boolean;
  /** Whether what was typed is worth asking before it is thrown away. */
  askBefore?: boolean;
  children: ComponentChildren;
}

/** What the focus begins with: the first field, or else the first button below the title, which is the harmless one. */
function firstOf(dialog: HTMLElement): HTMLElement | null {
  const first = (kinds: string): HTMLElement | null =>
    dialog.querySelector(`.dialog-content :is(${kinds}):not(:disabled, [aria-disabled="true"])`);
  return first("input, select, textarea") ?? first("button");
}

/** Where the focus was before a dialog: on what opened it, in a row of a list or not. */
interface Origin {
  readonly opener: Element | null;
  readonly row: string | undefined;
}

/**
 * That of the dialog which was opened last, until none is open: one that comes in its place gives the focus back there.
 * It may be open before the other one has been cleaned up.
 */
let newest: Origin | null = null;

function originOf(focused: Element | null): Origin {
  const opener = focused === document.body ? null : focused;
  if (newest !== null && opener === null) return newest;
  return { opener, row: opener?.closest<HTMLElement>("[data-id]")?.dataset["id"] };
}

/**
 * What opened the dialog, or what has taken its place since: its row, or the heading of the page. A person who went on
 * meanwhile, by a key, stays there.
 */
function giveFocusBack({ opener, row }: Origin): void {
  const present = document.activeElement;
  if (present !== opener && present !== document.body && present !== null) return;
  const still = opener instanceof HTMLElement && opener.isConnected && !opener.matches(":disabled") ? opener : null;
  const place =
    still ??
    (row === undefined ? null : document.querySelector<HTMLElement>(`[data-id="${CSS.escape(row)}"]`)) ??
    document.querySelector<HTMLElement>("h1");
  place?.focus();
}

/**
 * A modal dialog. The focus begins in its first field and goes back to what opened it; what was typed is not thrown
 * away unasked.
 */
export function Dialog({ title, onClose, wide = false, askBefore = true, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const touched = useRef(false);
  const closing = useRef(false);
  const [asking, setAsking] = useState(false);
  const leave = (): void => (touched.current ? setAsking(true) : onClose());
  // Before anything else can happen: what is typed next is for the dialog, and no key of the page behind it.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return undefined;
    const origin = originOf(document.activeElement);
    newest = origin;
    dialog.showModal();
    firstOf(dialog)?.focus();
    return () => {
      closing.current = true;
      dialog.close();
      // After the page has drawn what the dialog has changed.
      requestAnimationFrame(() => {
        if (document.querySelector("dialog[open]") === null) newest = null;
        giveFocusBack(origin);
      });
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? "dialog wide" : "dialog"}
      aria-label={title}
      onInput={() => {
        touched.current = askBefore;
      }}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      onClose={() => {
        // A second Escape in a row closes it, even if the page says no.
        if (!closing.current) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) leave();
      }}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label="Close" onClick={leave}>
            <Icon name="close" />
          </button>
        </div>
        {asking && <Discard onKeep={() => setAsking(false)} onDiscard={onClose} />}
        <div class="dialog-content">{children}</div>
      </div>
    </dialog>
  );
}

function Discard({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div class="discard" role="alert">
      <span>What you have entered will be lost.</span>
      <button ref={keep} type="button" class="button small" onClick={onKeep}>
        Go on editing
      </button>
      <button type="button" class="button small danger" onClick={onDiscard}>
        Discard it
      </button>
    </div>
  );
}
