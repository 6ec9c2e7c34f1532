import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { request } from "../api/client";
import { mutate, type Outcome } from "../api/mutate";
import { graphql } from "../api/tada";
import { LOOK_AGAIN } from "../live/unannounced";
import { type SavedView, withoutPage } from "../model/views";

const SavedViews = graphql(`
  query SavedViews {
    savedViews { id page name search isShared }
  }
`);
const SaveView = graphql(`
  mutation SaveView($input: SaveViewInput!) {
    saveView(input: $input) { view { id } errors { code message path } }
  }
`);
const UpdateView = graphql(`
  mutation UpdateView($input: UpdateViewInput!) {
    updateView(input: $input) { view { id } errors { code message path } }
  }
`);
const DeleteView = graphql(`
  mutation DeleteView($input: DeleteViewInput!) {
    deleteView(input: $input) { view { id } errors { code message path } }
  }
`);

interface Known {
  readonly views: readonly SavedView[];
  /** Why the last question had no answer. */
  readonly error: string | null;
}

/** The views as the server had them last; null until its first answer. */
const known = signal<Known | null>(null);

let asked = 0;
/** The newest question that has an answer: those of older ones come too late. */
let answered = 0;

async function ask(abort?: AbortSignal): Promise<void> {
  const question = ++asked;
  try {
    const views = (await request(SavedViews, {}, abort)).savedViews;
    if (question < answered) return;
    answered = question;
    known.value = { views, error: null };
  } catch (error) {
    if (abort?.aborted === true || question < answered) return;
    answered = question;
    known.value = { views: known.value?.views ?? [], error: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * One's own views and those of the team, asked for again and again while they are wanted, as no event tells of them;
 * null until the first answer.
 */
export function useViews(wanted: boolean): Known | null {
  useEffect(() => {
    if (!wanted) return undefined;
    const controller = new AbortController();
    let timer = 0;
    const look = async (): Promise<void> => {
      if (!document.hidden) await ask(controller.signal);
      if (!controller.signal.aborted) timer = window.setTimeout(() => void look(), LOOK_AGAIN);
    };
    void look();
    return () => {
      controller.abort();
      window.clearTimeout(timer);
    };
  }, [wanted]);
  return known.value;
}

async function changed<T>(outcome: Outcome<T>): Promise<Outcome<T>> {
  if (outcome.ok) await ask();
  return outcome;
}

export async function saveView(page: string, name: string, search: string, shared: boolean): Promise<Outcome<unknown>> {
  return changed(
    await mutate(SaveView, { input: { page, name, search: withoutPage(search), shared } }, (data) => data.saveView),
  );
}

interface ViewChange {
  readonly name: string;
  readonly shared: boolean;
  /** The query it leads to from now on; null = as before. */
  readonly search: string | null;
}

export async function updateView(id: string, { name, shared, search }: ViewChange): Promise<Outcome<unknown>> {
  const input = { id, name, shared, ...(search !== null && { search: withoutPage(search) }) };
  return changed(await mutate(UpdateView, { input }, (data) => data.updateView));
}

export async function deleteView(id: string): Promise<Outcome<unknown>> {
  return changed(await mutate(DeleteView, { input: { id } }, (data) => data.deleteView));
}
