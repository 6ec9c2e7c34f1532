import { useEffect, useState } from "preact/hooks";
import { request } from "../api/client";
import { graphql } from "../api/tada";
import { labelText, readLabel } from "../lib/labels";

const JobNames = graphql(`
  query JobNames {
    availableJobs { name }
  }
`);
const TaskNames = graphql(`
  query TaskNames($filter: TaskFilter) {
    tasks(first: 20, filter: $filter, orderBy: [{ field: NAME }]) { nodes { name owner } }
  }
`);
const GroupNames = graphql(`
  query GroupNames($filter: GroupFilter) {
    groups(first: 20, filter: $filter) { nodes { name } }
  }
`);
const NodeNames = graphql(`
  query NodeNames($filter: NodeFilter) {
    nodes(first: 20, filter: $filter, orderBy: [{ field: STARTED_AT, direction: DESC }]) { nodes { name } }
  }
`);
const LabelKeys = graphql(`
  query LabelKeys {
    labelKeys
  }
`);
const LabelValues = graphql(`
  query LabelValues($key: String!) {
    labelValues(key: $key, first: 100) { nodes { value } }
  }
`);

/** What names a filter can be given. */
export type NameKind = "job" | "task" | "owner" | "group" | "node" | "label";

async function namesLike(kind: NameKind, typed: string, signal: AbortSignal): Promise<readonly string[]> {
  const contains = { contains: typed };
  switch (kind) {
    case "job": {
      const { availableJobs } = await request(JobNames, {}, signal);
      return availableJobs.map((job) => job.name).filter((name) => name.toLowerCase().includes(typed.toLowerCase()));
    }
    case "task":
      return (await request(TaskNames, { filter: { name: contains } }, signal)).tasks.nodes.map((task) => task.name);
    case "owner": {
      const { tasks } = await request(
        TaskNames,
        { filter: { owner: typed === "" ? { isNull: false } : contains } },
        signal,
      );
      return [...new Set(tasks.nodes.flatMap((task) => task.owner ?? []))];
    }
    case "group":
      return (await request(GroupNames, { filter: { name: contains } }, signal)).groups.nodes.map(
        (group) => group.name,
      );
    case "label":
      return labelsLike(typed, signal);
    case "node":
      return (await request(NodeNames, { filter: { name: contains } }, signal)).nodes.nodes.map((node) => node.name);
  }
}

/** Keys as long as one types a key, then its values. */
async function labelsLike(typed: string, signal: AbortSignal): Promise<readonly string[]> {
  const wanted = readLabel(typed);
  const { labelKeys } = await request(LabelKeys, {}, signal);
  if (wanted === null || !labelKeys.includes(wanted.key)) return labelKeys.filter((key) => key.includes(typed));
  const { labelValues } = await request(LabelValues, { key: wanted.key }, signal);
  const labels = labelValues.nodes.map(({ value }) => labelText(wanted.key, value));
  return labels.filter((label) => label.startsWith(typed));
}

const TYPING_PAUSE = 200;

/**
 * Names that contain what is typed, asked for while `wanted`; without an answer there are none, and one types the name
 * in full.
 */
export function useNames(kind: NameKind | null, typed: string, wanted: boolean): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    if (kind === null || !wanted) return undefined;
    const controller = new AbortController();
    const timer = window.setTimeout(
      () => void namesLike(kind, typed, controller.signal).then(setNames, () => setNames([])),
      TYPING_PAUSE,
    );
    return () => {
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [kind, typed, wanted]);
  return names;
}
