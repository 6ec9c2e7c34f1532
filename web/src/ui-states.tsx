/** Every primitive in each of its states, on one page: to be looked at, and tried by `tests/e2e/test_primitives.py`. */
import { type ComponentChildren, render } from "preact";
import { useState } from "preact/hooks";
import { ApiError, LinkError } from "./api/client";
import { SHAPES } from "./lib/icons";
import type { IconName } from "./lib/status";
import type { LiveResult } from "./live/use-live";
import type { ListState } from "./model/live-list";
import { Notices } from "./shell/notices";
import { notify } from "./state/announce";
import { Action, Button } from "./ui/action";
import { ChartFrame } from "./ui/chart-frame";
import { Confirm } from "./ui/confirm";
import { CopyName } from "./ui/copy-name";
import { type Column, DataTable } from "./ui/data-table";
import { Dialog } from "./ui/dialog";
import { Command, Empty, ErrorBox, Skeleton } from "./ui/feedback";
import { Few } from "./ui/few";
import { Field, FieldButton, HiddenInput, Select, TextInput } from "./ui/field";
import { FormDialog } from "./ui/form-dialog";
import { FreshButton } from "./ui/fresh-button";
import { Icon } from "./ui/icon";
import { JsonView } from "./ui/json-view";
import { lazy } from "./ui/lazy";
import { ListPanel } from "./ui/list-panel";
import { LivePart } from "./ui/live-part";
import { Choices, SpanInput, TextLines } from "./ui/more-fields";
import { Name } from "./ui/name";
import { OneLine } from "./ui/one-line";
import { Pager } from "./ui/pager";
import { Duration, Progress } from "./ui/progress";
import { Refused } from "./ui/refused";
import { PageHead, Section } from "./ui/section";
import { SelectedCount } from "./ui/selected-count";
import { ShownOnce } from "./ui/shown-once";
import { StackedBars } from "./ui/stacked-bars";
import { Status } from "./ui/status";
import { Elapsed, Time } from "./ui/time";

const LONG = "a-name-without-any-blank-that-is-longer-than-every-column-of-a-table-and-than-a-small-phone";
const STATES = [
  "WAITING",
  "SCHEDULED",
  "RUNNING",
  "STUCK",
  "SUSPENDED",
  "SUCCESS",
  "FAILED",
  "CANCELLED",
  "SKIPPED",
  "TIMED_OUT",
  "LOST",
  "SNOOZED",
  "HANDED_BACK",
];
const MOMENT = "2026-03-29T00:59:30Z";
const HOUR = 3_600_000;
const nothing = (): void => undefined;

interface Row {
  readonly id: string;
  readonly state: string;
  readonly count: number;
}

const ROWS: readonly Row[] = [
  { id: "nightly", state: "SUCCESS", count: 12 },
  { id: LONG, state: "FAILED", count: 1_234_567 },
];
const COLUMNS: readonly Column<Row>[] = [
  {
    key: "name",
    title: "Name",
    width: 160,
    rank: 0,
    card: "title",
    cell: (row) => <Name text={row.id} />,
    name: (row) => row.id,
  },
  { key: "state", title: "State", width: 110, rank: 1, card: "pair", cell: (row) => <Status name={row.state} /> },
  { key: "count", title: "Runs", width: 90, rank: 2, card: "pair", number: true, cell: (row) => row.count },
];

type Rows = ListState<Row>;
const NO_ROWS: Rows = { rows: [], end: null, more: false, total: 0, stale: false };

function live<S>(state: S | null, error: Error | null): LiveResult<S> {
  return { state, error, loading: false, answer: null, reload: nothing, patch: nothing };
}

const FAILURE = new LinkError("The server cannot be reached: try again");
const TOO_MANY = new ApiError([
  { message: "No index has this order", extensions: { code: "LIMIT_SORTED_ROWS", maximum: 200_000 } },
]);
const SHORTER = {
  rows: "executions",
  order: "by duration",
  terms: ["task:", "run:"],
  spans: { param: "range", words: new Map([["24h", "Last 24 h"]]) },
};
const Fetched = lazy(() => Promise.resolve(() => <p>Its code has come.</p>), "part");
const Missing = lazy(() => Promise.reject<() => null>(new Error("no such file")), "part");

/** A primitive with its states. */
function Primitive({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section class="panel" data-primitive={name} aria-label={name}>
      <div class="panel-head">
        <h2>{name}</h2>
      </div>
      <div class="panel-body">{children}</div>
    </section>
  );
}

function Dialogs() {
  const [open, setOpen] = useState("");
  const close = (): void => setOpen("");
  return (
    <>
      {["dialog", "confirm", "form-dialog", "shown-once"].map((name) => (
        <Primitive key={name} name={name}>
          <Button class="button" onClick={() => setOpen(name)}>
            Open {name}
          </Button>
        </Primitive>
      ))}
      {open === "dialog" && (
        <Dialog title={LONG} onClose={close}>
          <p>What a dialog says.</p>
        </Dialog>
      )}
      {open === "confirm" && (
        <Confirm title="Delete nightly?" action="Delete" danger onClose={close} onConfirm={() => Promise.resolve()}>
          <p>Its history stays.</p>
        </Confirm>
      )}
      {open === "form-dialog" && (
        <FormDialog
          title="New secret"
          action="Save"
          needs="VIEWER"
          onClose={close}
          send={() =>
            Promise.resolve({
              ok: false,
              errors: [{ code: "INVALID", message: "name: must not be empty", path: ["name"] }],
            })
          }
          onDone={close}
        >
          {(fault) => (
            <Field label="Name" error={fault("name")}>
              <TextInput value="" onChange={nothing} />
            </Field>
          )}
        </FormDialog>
      )}
      {open === "shown-once" && (
        <ShownOnce title="A token" about="It is shown this once." secret={LONG} onClose={close} />
      )}
    </>
  );
}

function Fields() {
  return (
    <Primitive name="field">
      <Field label="Plain" hint="What it is for.">
        <TextInput value="" onChange={nothing} placeholder="nothing yet" />
      </Field>
      <Field
        label="Wrong"
        error="must be a name, got nothing"
        aside={<FieldButton onClick={nothing}>Help</FieldButton>}
      >
        <TextInput value={LONG} onChange={nothing} invalid mono />
      </Field>
      <Field label="Hidden">
        <HiddenInput value="secret" onChange={nothing} />
      </Field>
      <Field label="One of several">
        <Select
          value="b"
          onChange={nothing}
          options={[
            ["a", "first"],
            ["b", LONG],
          ]}
        />
      </Field>
    </Primitive>
  );
}

function MoreFields() {
  return (
    <Primitive name="more-fields">
      <Field label="A span of time" error="Must be a number">
        <SpanInput value={{ count: "soon", unit: "h" }} onChange={nothing} invalid />
      </Field>
      <Field label="Several lines">
        <TextLines value={`${LONG}\n${LONG}`} onChange={nothing} />
      </Field>
      <Choices
        label="All at one look"
        error="Choose one"
        value="b"
        onChange={nothing}
        options={[
          ["a", "first"],
          ["b", LONG],
        ]}
      />
    </Primitive>
  );
}

function Lists() {
  return (
    <>
      <Primitive name="data-table">
        <DataTable id="states" columns={COLUMNS} context={null} rows={ROWS} rowId={(row) => row.id} />
      </Primitive>
      <Primitive name="list-panel">
        {[live<Rows>(null, null), live<Rows>(null, FAILURE), live<Rows>(NO_ROWS, null)].map((list, place) => (
          <ListPanel
            key={place}
            label={`List ${place}`}
            id="states-list"
            after=""
            page={String(place)}
            list={list}
            columns={COLUMNS}
            context={null}
            rowId={(row) => row.id}
            empty={<Empty title="Nothing yet">It comes when something runs.</Empty>}
          />
        ))}
      </Primitive>
      <Primitive name="pager">
        <Pager after="here" end="next" more shown={50} />
      </Primitive>
      <Primitive name="selected-count">
        <SelectedCount
          selection={{ selected: new Set(["a"]), toggle: nothing, togglePage: nothing, clear: nothing }}
          shown={["a", "b"]}
          one="run"
        />
      </Primitive>
      <Primitive name="fresh-button">
        <FreshButton count={1} release={nothing} />
        <FreshButton count={1_200} release={nothing} />
      </Primitive>
      <Primitive name="few">
        <Few class="stack" few={2} items={[1, 2, 3, 4].map((each) => <li key={each}>{`Item ${each}`}</li>)} />
      </Primitive>
    </>
  );
}

function Charts() {
  const starts = [0, 1, 2, 3].map((hour) => Date.parse(MOMENT) + hour * HOUR);
  return (
    <>
      <Primitive name="stacked-bars">
        <StackedBars
          title="Runs"
          starts={starts}
          layers={[
            { name: "Success", look: "good", values: [1, 20, 3, 0] },
            { name: "Failed", look: "bad", values: [0, 2, 0, 9] },
          ]}
          total="all"
          write={String}
          whole
          width={600}
          height={120}
        />
      </Primitive>
      <Primitive name="chart-frame">
        <ChartFrame title="A drawing" columns={["Hour", "Runs"]} rows={[["01:00", "3"]]}>
          <p>The drawing.</p>
        </ChartFrame>
      </Primitive>
    </>
  );
}

function States() {
  return (
    <>
      <Primitive name="section">
        <PageHead title="Head of a page">
          <Button class="button">With an action</Button>
        </PageHead>
        <Section title="A part">What is in it.</Section>
        <Section title="Out of date" dimmed aside={<a href="#states">All runs</a>}>
          What was known.
        </Section>
      </Primitive>
      <Primitive name="action">
        <Button class="button">Plain</Button> <Button class="button primary">Primary</Button>{" "}
        <Button class="button danger">Danger</Button> <Button class="button small">Small</Button>{" "}
        <Button class="button" disabled>
          Waits for its answer
        </Button>{" "}
        <Button class="button" reason="This needs the role admin">
          Says why not
        </Button>{" "}
        <Action class="button">Without a connection</Action>
      </Primitive>
      <Primitive name="icon">
        {Object.keys(SHAPES).map((name) => (
          <span key={name} title={name}>
            <Icon name={name as IconName} />{" "}
          </span>
        ))}
      </Primitive>
      <Primitive name="status">
        {STATES.map((state) => (
          <p key={state}>
            <Status name={state} />
          </p>
        ))}
      </Primitive>
      <Primitive name="time">
        <p>
          <Time at={MOMENT} /> · <Time at={MOMENT} form="moment" /> · <Elapsed since={MOMENT} />
        </p>
      </Primitive>
      <Primitive name="progress">
        <Progress progress={{ done: 3, total: 10, message: LONG }} />
        <Progress progress={{ done: 3, total: null, message: null }} />
        <p>
          <Duration seconds={0.002} /> · <Duration seconds={86_400} /> · <Duration seconds={null} />
        </p>
      </Primitive>
      <Primitive name="name">
        <Name text="short" /> <Name text={LONG} />
      </Primitive>
      <Primitive name="one-line">
        <OneLine.Provider value={true}>
          <Name text={LONG} />
        </OneLine.Provider>
      </Primitive>
      <Primitive name="copy-name">
        <CopyName name={LONG} />
      </Primitive>
      <Primitive name="json-view">
        <JsonView value={{ order: 7, lines: [{ sku: LONG }] }} label="Arguments" />
        <JsonView value={null} label="Nothing" />
      </Primitive>
      <Primitive name="feedback">
        <Skeleton />
        <ErrorBox error={FAILURE} retry={nothing} />
        <Empty title="Nothing here" />
        <Command text={`cronograph tasks show ${LONG}`} />
        <Button class="button" onClick={() => notify("It was done.")}>
          Say it
        </Button>{" "}
        <Button class="button" onClick={() => notify("It was refused.", { tone: "bad" })}>
          Say what failed
        </Button>
      </Primitive>
      <Primitive name="refused">
        <Refused error={TOO_MANY} retry={nothing} narrowing={SHORTER} />
        <Refused error={FAILURE} retry={nothing} narrowing={SHORTER} />
      </Primitive>
      <Primitive name="live-part">
        <LivePart live={live<string>(null, null)} rows={2}>
          {(text) => text}
        </LivePart>
        <LivePart live={live<string>("What was known.", FAILURE)} rows={2}>
          {(text) => <p>{text}</p>}
        </LivePart>
      </Primitive>
      <Primitive name="lazy">
        <Fetched />
        <Missing />
      </Primitive>
      <Fields />
      <MoreFields />
      <Lists />
      <Charts />
      <Dialogs />
      <Notices />
    </>
  );
}

const root = document.getElementById("states");
if (root === null) throw new Error("ui-states.html must contain an element with the id 'states'");
render(<States />, root);
