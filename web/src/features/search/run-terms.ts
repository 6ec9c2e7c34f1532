/** Terms by which runs are looked for, in every list of runs. */
import { words } from "../../lib/format";
import { RUN_TABS } from "../../model/run-filter";
import type { Vocabulary } from "./model";

type Term = Vocabulary["terms"][number];

const error: Term = { prefix: "error:", param: "error", label: "Error" };
const arg: Term = { prefix: "arg:", param: "arg", label: "Argument", form: "label" };
const label: Term = { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" };
const job: Term = { prefix: "job:", param: "job", label: "Job", names: "job", exact: true };
const node: Term = { prefix: "node:", param: "node", label: "Node", names: "node" };
const state: Term = {
  prefix: "state:",
  param: "state",
  label: "State",
  tab: true,
  options: RUN_TABS.map((tab) => (tab === "" ? ["UNFINISHED", "unfinished"] : [tab, words(tab)])),
};

export const RUN_TERMS = { job, error, arg, label, node, state };
