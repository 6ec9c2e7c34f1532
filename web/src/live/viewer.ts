import { effect, signal } from "@preact/signals";
import { request, requestOnce } from "../api/client";
import { graphql, type ResultOf } from "../api/tada";
import { words } from "../lib/format";
import { draftsBelongTo } from "../state/drafts";
import { link } from ".";

const ViewerDocument = graphql(`
  query Viewer {
    viewer { name role sessions { id isCurrent } }
  }
`);

type Viewer = ResultOf<typeof ViewerDocument>["viewer"];
export type Role = Viewer["role"];

const RANK: Readonly<Record<Role, number>> = { VIEWER: 0, OPERATOR: 1, ADMIN: 2 };
export const ROLES: readonly Role[] = ["VIEWER", "OPERATOR", "ADMIN"];

/** Who has signed in; null until the server has said it. */
export const viewer = signal<Viewer | null>(null);

/** Whether there is a session that can be ended: not so where everybody is the local administrator. */
export function hasSignedIn(): boolean {
  return viewer.value?.sessions.some((session) => session.isCurrent) ?? false;
}

/** Whether one may do what needs a role. Until it is known who one is, the server alone decides. */
export function may(role: Role): boolean {
  return viewer.value === null || RANK[viewer.value.role] >= RANK[role];
}

/** Why one may not do what needs a role; null if one may. */
export function whyNot(role: Role): string | null {
  return may(role) || viewer.value === null
    ? null
    : `This needs the role ${words(role)}, and you are ${viewer.value.role === "VIEWER" ? "a" : "an"} ${words(viewer.value.role)}`;
}

function know(person: Viewer): Viewer {
  draftsBelongTo(person.name);
  viewer.value = person;
  return person;
}

/** Asks who has just signed in; the name. Throws if nobody has. */
export async function refreshViewer(): Promise<string> {
  return know((await requestOnce(ViewerDocument, {})).viewer).name;
}

/** Asks who one is: now, and after each further connection, for roles change. */
export function startViewer(): void {
  // The first connection is opened together with the page, which asks by itself.
  let isAsked = true;
  const ask = async (): Promise<void> => {
    try {
      know((await request(ViewerDocument, {})).viewer);
    } catch (error) {
      isAsked = false;
      // What is known stays; the page itself says that the server cannot be reached.
      console.info("it is not known who has signed in:", error);
    }
  };
  void ask();
  effect(() => {
    if (link.state.value.kind !== "live") return;
    if (!isAsked) void ask();
    isAsked = false;
  });
}
