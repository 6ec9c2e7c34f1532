import { useEffect, useState } from "preact/hooks";
import { PageHead } from "./components/section";
import { Shell } from "./components/shell";
import { type Page, readPath } from "./lib/paths";
import { ExecutionPage } from "./routes/execution";
import { Groups } from "./routes/groups";
import { Jobs } from "./routes/jobs";
import { Log } from "./routes/log";
import { Nodes } from "./routes/nodes";
import { Overview } from "./routes/overview";
import { Runs } from "./routes/runs";
import { Settings } from "./routes/settings";
import { TaskPage } from "./routes/task";
import { Tasks } from "./routes/tasks";
import { startKeys } from "./state/keys";
import { place, takeScroll } from "./state/route";

function NotFound() {
  return (
    <>
      <PageHead title="There is no such page" />
      <p>
        The address <code>{place.value.path}</code> names no page of this dashboard. <a href="/">Go to the overview</a>
      </p>
    </>
  );
}

function Route({ page }: { page: Page }) {
  switch (page.name) {
    case "overview":
      return <Overview />;
    case "tasks":
      return <Tasks />;
    case "task":
      return <TaskPage key={page.task} name={page.task} />;
    case "jobs":
      return <Jobs />;
    case "runs":
      return <Runs />;
    case "log":
      return <Log />;
    case "execution":
      return <ExecutionPage key={page.id} id={page.id} />;
    case "groups":
      return <Groups />;
    case "nodes":
      return <Nodes />;
    case "settings":
      return <Settings />;
    case "unknown":
      return <NotFound />;
  }
}

/** Puts the page where it was scrolled to when it was left, once it is long enough again. */
function useScrollRestoration(path: string): void {
  useEffect(() => {
    const top = takeScroll();
    if (top === null) return undefined;
    const restore = (): void => {
      if (document.documentElement.scrollHeight >= top + window.innerHeight) {
        window.scrollTo(0, top);
        observer.disconnect();
      }
    };
    const observer = new ResizeObserver(restore);
    observer.observe(document.body);
    const giveUp = window.setTimeout(() => observer.disconnect(), 2_000);
    restore();
    return () => {
      observer.disconnect();
      window.clearTimeout(giveUp);
    };
  }, [path]);
}

export function App() {
  const page = readPath(place.value.path);
  const [help, setHelp] = useState(false);
  useEffect(() => startKeys(() => setHelp(true)), []);
  useScrollRestoration(place.value.path + place.value.search);
  return (
    <Shell page={page} help={help} setHelp={setHelp}>
      <Route page={page} />
    </Shell>
  );
}
