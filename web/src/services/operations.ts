import { mutate, report } from "../api/mutate";
import { graphql } from "../api/tada";
import { wholeDuration } from "../lib/time";
import { notify } from "../state/announce";

const PauseGroup = graphql(`
  mutation PauseGroup($input: PauseGroupInput!) {
    pauseGroup(input: $input) {
      group { name }
      errors { code message path }
    }
  }
`);

const ResumeGroup = graphql(`
  mutation ResumeGroup($input: ResumeGroupInput!) {
    resumeGroup(input: $input) {
      group { name }
      errors { code message path }
    }
  }
`);

const UpdateGroup = graphql(`
  mutation UpdateGroup($input: UpdateGroupInput!) {
    updateGroup(input: $input) {
      group { name maxRunning }
      errors { code message path }
    }
  }
`);

const DrainNode = graphql(`
  mutation DrainNode($input: DrainNodeInput!) {
    drainNode(input: $input) {
      node { name state }
      errors { code message path }
    }
  }
`);

const ResumeNode = graphql(`
  mutation ResumeNode($input: ResumeNodeInput!) {
    resumeNode(input: $input) {
      node { name state }
      errors { code message path }
    }
  }
`);

export async function pauseGroup(name: string, reason: string, resumeAt: string | null = null): Promise<boolean> {
  const input = { name, ...(reason !== "" && { reason }), ...(resumeAt !== null && { resumeAt }) };
  if (!report(await mutate(PauseGroup, { input }, (data) => data.pauseGroup))) return false;
  notify(`Group ${name} is paused`, { action: { label: "Undo", run: () => void resumeGroup(name, reason) } });
  return true;
}

/** Resumes a group; what says so offers to pause it again, for the reason that it had. */
export async function resumeGroup(name: string, reason = ""): Promise<boolean> {
  if (!report(await mutate(ResumeGroup, { input: { name } }, (data) => data.resumeGroup))) return false;
  notify(`Group ${name} goes on`, { action: { label: "Undo", run: () => void pauseGroup(name, reason) } });
  return true;
}

/** What becomes of a run that comes when as many wait as may. */
export type WhenFull = "REFUSE" | "DROP_OLDEST" | "DROP_NEWEST";

/** What limits a group; null = nothing does. Times are seconds. */
export interface GroupLimits {
  readonly maxRunning: number | null;
  readonly rate: { readonly limit: number; readonly per: number; readonly burst: number | null } | null;
  readonly maxWaitLow: number | null;
  readonly keep: number | null;
  readonly cap: { readonly limit: number; readonly whenFull: WhenFull } | null;
}

/** Sets how many runs of the group may be on at once, start in how long and wait, and how long its history is kept. */
export async function limitGroup(name: string, limits: GroupLimits): Promise<boolean> {
  if (!report(await mutate(UpdateGroup, { input: { name, ...limits } }, (data) => data.updateGroup))) return false;
  const said = [
    ...(limits.maxRunning === null ? [] : [`runs at most ${limits.maxRunning} at once`]),
    ...(limits.rate === null ? [] : [`starts at most ${limits.rate.limit} in ${limits.rate.per} s`]),
    ...(limits.maxWaitLow === null ? [] : [`lets low priority wait ${limits.maxWaitLow} s`]),
    ...(limits.cap === null ? [] : [`has at most ${limits.cap.limit} waiting`]),
    ...(limits.keep === null ? [] : [`keeps its history ${wholeDuration(limits.keep)}`]),
  ];
  notify(`Group ${name} ${said.length === 0 ? "has no limit" : said.join(", ")}`);
  return true;
}

/** Asks a node to take nothing new, to finish what it has, and to end. */
export async function drainNode(name: string): Promise<boolean> {
  if (!report(await mutate(DrainNode, { input: { name } }, (data) => data.drainNode))) return false;
  notify(`${name} takes nothing new`, { action: { label: "Undo", run: () => void resumeNode(name) } });
  return true;
}

/** Lets a node that drains take runs again. */
export async function resumeNode(name: string): Promise<boolean> {
  if (!report(await mutate(ResumeNode, { input: { name } }, (data) => data.resumeNode))) return false;
  notify(`${name} takes runs again`);
  return true;
}
