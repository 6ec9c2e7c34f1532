import { announce, notify } from "./announce";

/**
 * Puts a text on the clipboard, and says so to screen readers; where that cannot be done it says what to do, and
 * answers false.
 */
export async function copyText(text: string, said: string): Promise<boolean> {
  const copied = await written(text);
  if (copied) announce(said);
  else
    notify("The browser does not let this page copy. Open it by HTTPS, or select the text and press Ctrl C.", {
      tone: "bad",
    });
  return copied;
}

async function written(text: string): Promise<boolean> {
  try {
    // Missing on a page that came over plain HTTP from another machine.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (clipboard === undefined) return writtenBySelection(text);
    await clipboard.writeText(text);
    return true;
  } catch {
    return writtenBySelection(text);
  }
}

/** As browsers did it before they had a clipboard for pages: what is selected is copied. */
function writtenBySelection(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "visually-hidden";
  // Nothing outside an open dialog can be selected.
  (before?.closest("dialog") ?? document.body).append(field);
  field.select();
  let copied = false;
  try {
    copied = document.execCommand("copy");
  } catch {
    // It says what to do instead.
  }
  field.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return copied;
}
