import { useEffect, useState } from "preact/hooks";
import { DIALOGS } from "./components/dialogs";
import { lazy } from "./components/lazy";
import { PageHead } from "./components/section";
import { HelpDialog } from "./components/help-dialog";
import { Shell } from "./components/shell";
import { type Page, readPath } from "./lib/paths";
import { startKeys } from "./state/keys";
import { place, takeScroll } from "./state/route";

/** Milliseconds after the start when the other pages are fetched too. */
const PRELOAD_AFTER = 600;

const Overview = lazy(() => import("./routes/overview").then((module) => module.Overview));
const Tasks = lazy(() => import("./routes/tasks").then((module) => module.Tasks));
const TaskPage = lazy(() => import("./routes/task").then((module) => module.TaskPage));
const Jobs = lazy(() => import("./routes/jobs").then((module) => module.Jobs));
const Runs = lazy(() => import("./routes/runs").then((module) => module.Runs));
const RunPage = lazy(() => import("./features/run/page").then((module) => module.RunPage));
const Log = lazy(() => import("./routes/log").then((module) => module.Log));
const Lines = lazy(() => import("./features/lines/page").then((module) => module.Lines));
const ExecutionPage = lazy(() => import("./features/run/execution").then((module) => module.ExecutionPage));
const Groups = lazy(() => import("./routes/groups").then((module) => module.Groups));
const Nodes = lazy(() => import("./routes/nodes").then((module) => module.Nodes));
const Settings = lazy(() => import("./routes/settings").then((module) => module.Settings));

const Account = lazy(() => import("./routes/account").then((module) => module.AccountPage));
const Secrets = lazy(() => import("./routes/secrets").then((module) => module.SecretsPage));
const Users = lazy(() => import("./routes/users").then((module) => module.UsersPage));
const Audit = lazy(() => import("./routes/audit").then((module) => module.AuditPage));

const Inbox = lazy(() => import("./routes/inbox").then((module) => module.Inbox));
const Flows = lazy(() => import("./routes/flows").then((module) => module.Flows));
const FlowPage = lazy(() => import("./routes/flow").then((module) => module.FlowPage));

const Palette = lazy(() => import("./components/palette").then((module) => module.Palette), "overlay");

const LATER = [Overview, Tasks, TaskPage, Jobs, Runs, RunPage, Log, Lines, ExecutionPage, Groups, Nodes, Settings, Account, Secrets, Users, Audit, Inbox, Flows, FlowPage, Palette, ...DIALOGS];

function NotFound() {
  return (
    <>
      <PageHead title="There is no such page" />
      <p>
        The address <code>{place.value.path}</code> names no page of this dashboard.
      </p>
      <a class="button" href="/">
        Go to the overview
      </a>
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
    case "run":
      return <RunPage key={page.id} id={page.id} />;
    case "log":
      return <Log />;
    case "lines":
      return <Lines />;
    case "execution":
      return <ExecutionPage key={page.id} id={page.id} />;
    case "groups":
      return <Groups />;
    case "nodes":
      return <Nodes />;
    case "settings":
      return <Settings />;
    case "account":
      return <Account />;
    case "secrets":
      return <Secrets />;
    case "users":
      return <Users />;
    case "audit":
      return <Audit />;
    case "inbox":
      return <Inbox />;
    case "flows":
      return <Flows />;
    case "flow":
      return <FlowPage key={page.id} id={page.id} />;
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
  const [above, setAbove] = useState<"help" | "palette" | null>(null);
  const openHelp = (): void => setAbove("help");
  const openPalette = (): void => setAbove("palette");
  const close = (): void => setAbove(null);
  useEffect(() => startKeys({ openHelp, openPalette }), []);
  useEffect(() => void window.setTimeout(() => LATER.forEach((each) => each.preload()), PRELOAD_AFTER), []);
  useScrollRestoration(place.value.path + place.value.search);
  return (
    <Shell
      page={page}
      openHelp={openHelp}
      openPalette={openPalette}
      above={
        <>
          {above === "help" && <HelpDialog onClose={close} />}
          {above === "palette" && <Palette onClose={close} />}
        </>
      }
    >
      <Route page={page} />
    </Shell>
  );
}
