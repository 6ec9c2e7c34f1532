import { useEffect } from "preact/hooks";
import { setTitle } from "../../live/title";
import { navigate, searchParams, setParams } from "../../state/route";
import { Action } from "../../ui/action";
import { Icon } from "../../ui/icon";
import { PageHead } from "../../ui/section";
import { SearchBar } from "../search/bar";
import type { Vocabulary } from "../search/model";
import { readTasksFilter, tasksFilterInput } from "../tasks/task-filter";
import { Agenda } from "./agenda";
import { DayLoad } from "./load";
import { Week } from "./week";

const VIEWS = [
  ["", "agenda"],
  ["week", "week"],
  ["load", "load by minute"],
] as const;

const SEARCH: Vocabulary = {
  label: "Name, job or owner",
  param: "q",
  terms: [
    { prefix: "group:", param: "group", label: "Group", names: "group", exact: true },
    { prefix: "owner:", param: "owner", label: "Owner", names: "owner", exact: true },
    { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" },
  ],
};

/** What is planned: as an agenda, as a calendar of the week, and as the load of each minute of a day. */
export function Plan() {
  const params = searchParams.value;
  const view = VIEWS.find(([each]) => each === params.get("view"))?.[0] ?? "";
  const filter = tasksFilterInput(readTasksFilter(params));
  useEffect(() => setTitle("Schedule"), []);
  return (
    <>
      <PageHead title="Schedule">
        <Action class="button" onClick={() => navigate("/tasks?new=1")}>
          <Icon name="plus" /> New task
        </Action>
      </PageHead>
      <nav class="tabs" aria-label="Views of the schedule">
        {VIEWS.map(([each, word]) => (
          <button
            key={each}
            type="button"
            class="tab"
            aria-current={each === view ? "true" : undefined}
            onClick={() => setParams({ view: each, after: null, from: null, to: null, at: null })}
          >
            {word}
          </button>
        ))}
      </nav>
      <SearchBar vocabulary={SEARCH} />
      {view === "" && <Agenda filter={filter} />}
      {view === "week" && <Week filter={filter} />}
      {view === "load" && <DayLoad filter={filter} />}
    </>
  );
}
