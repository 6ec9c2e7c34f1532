import { signal } from "@preact/signals";

/** A message at the edge of the page, with an optional way back. */
export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "info" | "bad";
  /** Shown as a button, such as "Undo". */
  readonly action?: { readonly label: string; run(): void };
}

const SHOWN_FOR = 6_000;
const QUIET = 700;

export const notices = signal<readonly Notice[]>([]);
/** The sentence that screen readers hear. */
export const spoken = signal("");

let nextId = 1;
let timer: ReturnType<typeof setTimeout> | null = null;
let batch: string[] = [];

/** Says a sentence to screen readers, together with others of the same moment. */
export function announce(sentence: string): void {
  if (!batch.includes(sentence)) batch.push(sentence);
  if (timer !== null) return;
  timer = setTimeout(() => {
    spoken.value =
      batch.length > 3 ? `${batch.slice(-1)[0] ?? ""}, and ${batch.length - 1} more changes` : batch.join(". ");
    batch = [];
    timer = null;
  }, QUIET);
}

/** Shows a message for a while; failures stay until they are closed. */
export function notify(text: string, options: { tone?: "info" | "bad"; action?: Notice["action"] } = {}): void {
  const tone = options.tone ?? "info";
  const notice: Notice = { id: nextId, text, tone, ...(options.action ? { action: options.action } : {}) };
  nextId += 1;
  notices.value = [...notices.value.slice(-3), notice];
  announce(text);
  if (tone === "info") setTimeout(() => dismiss(notice.id), SHOWN_FOR);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}
