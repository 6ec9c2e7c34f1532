import { useEffect, useRef, useState } from "preact/hooks";
import { Alarms, AlarmsOf, AllDeliveries } from "./features/alarms/lazy";
import { type Page, readPath } from "./lib/paths";
import { DIALOGS } from "./parts/dialogs";
import { HelpDialog } from "./shell/help-dialog";
import { Shell } from "./shell/shell";
import { startKeys } from "./state/keys";
import { place, takeScroll } from "./state/route";
import { styled } from "./styles/later";
import { lazy } from "./ui/lazy";
import { PageHead } from "./ui/section";

/** Milliseconds after the start when the other pages are fetched too. */
const PRELOAD_AFTER = 600;

const Overview = lazy(() => import("./features/overview/page").then((module) => module.Overview));
const Tasks = lazy(() => styled(import("./features/tasks/page")).then((module) => module.Tasks));
const TaskPage = lazy(() => styled(import("./features/tasks/task")).then((module) => module.TaskPage));
const Jobs = lazy(() => styled(import("./features/jobs/page")).then((module) => module.Jobs));
const JobPage = lazy(() => styled(import("./features/jobs/job")).then((module) => module.JobPage));
const Runs = lazy(() => styled(import("./features/runs/page")).then((module) => module.Runs));
const RunPage = lazy(() => styled(import("./features/run/page")).then((module) => module.RunPage));
const Log = lazy(() => styled(import("./features/log/page")).then((module) => module.Log));
const Lines = lazy(() => styled(import("./features/lines/page")).then((module) => module.Lines));
const Errors = lazy(() => styled(import("./features/errors/page")).then((module) => module.Errors));
const ErrorPage = lazy(() => styled(import("./features/errors/page")).then((module) => module.ErrorPage));
const ExecutionPage = lazy(() => styled(import("./features/run/execution")).then((module) => module.ExecutionPage));
const Groups = lazy(() => styled(import("./features/groups/page")).then((module) => module.Groups));
const Nodes = lazy(() => styled(import("./features/nodes/page")).then((module) => module.Nodes));
const Settings = lazy(() => styled(import("./features/admin/settings")).then((module) => module.Settings));

const Account = lazy(() => styled(import("./features/account/page")).then((module) => module.AccountPage));
const Secrets = lazy(() => styled(import("./features/admin/secrets")).then((module) => module.SecretsPage));
const Users = lazy(() => styled(import("./features/admin/users")).then((module) => module.UsersPage));
const Audit = lazy(() => styled(import("./features/admin/audit")).then((module) => module.AuditPage));

const Inbox = lazy(() => styled(import("./features/inbox/page")).then((module) => module.Inbox));
const Hooks = lazy(() => styled(import("./features/hooks/page")).then((module) => module.HooksPage));
const Webhooks = lazy(() => styled(import("./features/webhooks/page")).then((module) => module.WebhooksPage));
const Plan = lazy(() => styled(import("./features/plan/page")).then((module) => module.Plan));
const Flows = lazy(() => styled(import("./features/flows/page")).then((module) => module.Flows));
const FlowPage = lazy(() => styled(import("./features/flows/flow")).then((module) => module.FlowPage));

const Palette = lazy(() => styled(import("./shell/palette")).then((module) => module.Palette), "overlay");

const LATER = [
  Overview,
  Tasks,
  TaskPage,
  Jobs,
  JobPage,
  Runs,
  RunPage,
  Log,
  Lines,
  Errors,
  ErrorPage,
  ExecutionPage,
  Groups,
  Nodes,
  Settings,
  Account,
  Secrets,
  Users,
  Audit,
  Inbox,
  Alarms,
  AlarmsOf,
  AllDeliveries,
  Hooks,
  Webhooks,
  Plan,
  Flows,
  FlowPage,
  Palette,
  ...DIALOGS,
];

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
    case "job":
      return <JobPage key={page.job} name={page.job} />;
    case "runs":
      return <Runs />;
    case "run":
      return <RunPage key={page.id} id={page.id} />;
    case "log":
      return <Log />;
    case "lines":
      return <Lines />;
    case "errors":
      return <Errors />;
    case "error":
      return <ErrorPage key={page.fingerprint} fingerprint={page.fingerprint} />;
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
    case "alarms":
      return <Alarms />;
    case "deliveries":
      return <AllDeliveries />;
    case "hooks":
      return <Hooks />;
    case "webhooks":
      return <Webhooks />;
    case "schedule":
      return <Plan />;
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
  const covered = useRef(false);
  covered.current = above !== null;
  useEffect(() => startKeys({ openHelp, openPalette, isCovered: () => covered.current }), []);
  useEffect(() => {
    window.setTimeout(() => {
      for (const each of LATER) each.preload();
    }, PRELOAD_AFTER);
  }, []);
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
