/** Saved views: addresses of the dashboard under a name, one's own or the team's. Pure. */
import { type Command, fit } from "./palette";

export interface SavedView {
  readonly id: string;
  /** The path of the page. */
  readonly page: string;
  readonly name: string;
  /** The query of the address, with its `?`; empty for the list as it is. */
  readonly search: string;
  readonly isShared: boolean;
}

/** The query without its page: a view begins at the first one. */
export function withoutPage(search: string): string {
  const params = new URLSearchParams(search);
  params.delete("after");
  const text = params.toString();
  return text === "" ? "" : `?${text}`;
}

/** The views of a page, one's own first. */
export function viewsOf(views: readonly SavedView[], page: string): readonly SavedView[] {
  const here = views.filter((view) => view.page === page);
  return [...here.filter(({ isShared }) => !isShared), ...here.filter(({ isShared }) => isShared)];
}

/** The views of a page whose name fits what is typed, best first. */
export function viewsLike(views: readonly SavedView[], page: string, typed: string): readonly SavedView[] {
  return viewsOf(views, page)
    .flatMap((view) => {
      const value = fit(view.name, typed);
      return value === null ? [] : [{ view, value }];
    })
    .sort((left, right) => left.value - right.value)
    .map(({ view }) => view);
}

/** What the command palette offers of them; `titles` are the pages' own by path. */
export function viewCommands(views: readonly SavedView[], titles: ReadonlyMap<string, string>): readonly Command[] {
  return views.map(({ id, page, name, search, isShared }) => ({
    id: `view ${id}`,
    icon: "search",
    label: `${titles.get(page) ?? page}: ${name}`,
    kind: isShared ? "view of the team" : "view",
    href: page + search,
    press: null,
  }));
}
