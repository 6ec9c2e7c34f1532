import { announce } from "./announce";

/** Puts a text on the clipboard, and says so to screen readers. */
export async function copyText(text: string, said: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  announce(said);
}
