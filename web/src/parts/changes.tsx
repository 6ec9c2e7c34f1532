import { useEffect, useState } from "preact/hooks";
import { graphql, type ResultOf, type VariablesOf } from "../api/tada";
import { paths } from "../lib/paths";
import { useLive } from "../live/use-live";
import { type ChangeLine, fieldLabel, linesOf, wayBack } from "../model/revisions";
import { revertTo } from "../services/revisions";
import { Action } from "../ui/action";
import { Confirm } from "../ui/confirm";
import { Empty } from "../ui/feedback";
import { LivePart } from "../ui/live-part";
import { Name } from "../ui/name";
import { Time } from "../ui/time";
import { ChangeLines } from "./change-lines";

const ChangesDocument = graphql(`
  query Changes($first: Int!, $filter: RevisionFilter!) {
    asOf
    serverTime
    revisions(first: $first, filter: $filter) {
      nodes { id at actor address action kind name isMade isDeleted changes { field before after } }
      pageInfo { hasNextPage }
    }
  }
`);

type Answer = ResultOf<typeof ChangesDocument>["revisions"];
export type RevisionRow = Answer["nodes"][number];
export type RevisionFilter = VariablesOf<typeof ChangesDocument>["filter"];

const FEW = 10;
const MANY = 200;

interface ChangesProps {
  filter: RevisionFilter;
  /** Whether all are of one thing, whose name need not be repeated. */
  ofOne?: boolean;
  /** The version that a task or a group has on this page, so that going back overwrites nothing unseen. */
  versionOf?: (kind: RevisionRow["kind"], name: string) => number | null;
  /** In which time: "in the last 30 days". */
  within?: string;
  onLoad?: (revisions: readonly RevisionRow[]) => void;
}

/** Who changed what, the newest first: field by field, with a way back. */
export function Changes({ filter, ofOne = false, versionOf = () => null, within = "", onLoad }: ChangesProps) {
  const [first, setFirst] = useState(FEW);
  const [asked, setAsked] = useState<RevisionRow | null>(null);
  const live = useLive(`changes/${first} ${JSON.stringify(filter)}`, {
    document: ChangesDocument,
    variables: () => ({ first, filter }),
    init: (data): Answer => data.revisions,
    outdates: ({ kind }) => kind.startsWith("TASK_") || kind === "GROUP_UPDATED" || kind === "NODE_STARTED",
  });
  const rows = live.state?.nodes;
  useEffect(() => {
    if (rows !== undefined) onLoad?.(rows);
  }, [rows]);
  const back = asked === null ? null : wayBack(rows ?? [], asked.id);
  return (
    <>
      <LivePart live={live} rows={3}>
        {({ nodes, pageInfo }) =>
          nodes.length === 0 ? (
            <Empty title={`Nothing was changed ${within}`.trim()}>
              <p class="dim">Changes show here with who made them, and can be taken back.</p>
            </Empty>
          ) : (
            <>
              <ol class="changes">
                {nodes.map((row) => (
                  <Row
                    key={row.id}
                    row={row}
                    ofOne={ofOne}
                    canGoBack={wayBack(nodes, row.id) !== null}
                    onRevert={() => setAsked(row)}
                  />
                ))}
              </ol>
              {pageInfo.hasNextPage && first === FEW && (
                <p class="panel-body">
                  <button type="button" class="link-button" onClick={() => setFirst(MANY)}>
                    Older changes
                  </button>
                </p>
              )}
            </>
          )
        }
      </LivePart>
      {asked !== null && back !== null && (
        <RevertDialog
          row={asked}
          lines={back}
          version={versionOf(asked.kind, asked.name)}
          onClose={() => setAsked(null)}
        />
      )}
    </>
  );
}

interface RowProps {
  row: RevisionRow;
  ofOne: boolean;
  canGoBack: boolean;
  onRevert: () => void;
}

function hrefOf({ kind, name }: RevisionRow): string {
  return { TASK: paths.task, GROUP: paths.group, JOB: paths.job }[kind](name);
}

function deed({ isMade, isDeleted, actor }: RevisionRow): string {
  if (isMade) return "made";
  if (isDeleted) return "deleted";
  return actor === "code" ? "brought" : "changed";
}

function Row({ row, ofOne, canGoBack, onRevert }: RowProps) {
  const { actor, address, action } = row;
  return (
    <li class="change">
      <div class="change-head">
        <span class="change-who" title={fieldLabel(action)}>
          <Time at={row.at} /> <strong>{actor === "code" ? "New code" : actor}</strong> {deed(row)}{" "}
          {ofOne ? (
            "it"
          ) : (
            <>
              {row.kind.toLowerCase()}{" "}
              {row.isDeleted ? (
                <Name text={row.name} />
              ) : (
                <a href={hrefOf(row)}>
                  <Name text={row.name} />
                </a>
              )}
            </>
          )}
          {address !== null && <span class="dim"> from {address}</span>}
        </span>
        {canGoBack && (
          <Action class="button small" onClick={onRevert}>
            Revert to this
          </Action>
        )}
      </div>
      <ChangeLines lines={linesOf(row)} />
    </li>
  );
}

interface RevertProps {
  row: RevisionRow;
  lines: readonly ChangeLine[];
  version: number | null;
  onClose: () => void;
}

function RevertDialog({ row, lines, version, onClose }: RevertProps) {
  return (
    <Confirm
      title={`Revert ${row.name}`}
      action="Revert"
      onClose={onClose}
      onConfirm={async () => {
        if (await revertTo(row.id, row.name, version)) onClose();
      }}
    >
      <p>
        It gets the settings back that it had after the change of <Time at={row.at} form="full" />:
      </p>
      <ChangeLines lines={lines} />
      <p class="dim">Pauses stay as they are, and so do hidden values of arguments.</p>
    </Confirm>
  );
}
