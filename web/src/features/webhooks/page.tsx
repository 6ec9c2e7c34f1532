import { useEffect, useMemo, useState } from "preact/hooks";
import { report } from "../../api/mutate";
import { plural } from "../../lib/format";
import { setTitle } from "../../live/title";
import { useLive } from "../../live/use-live";
import { Action } from "../../ui/action";
import { Confirm } from "../../ui/confirm";
import { type Column, DataTable } from "../../ui/data-table";
import { Command, Empty } from "../../ui/feedback";
import { Icon } from "../../ui/icon";
import { LivePart } from "../../ui/live-part";
import { Name } from "../../ui/name";
import { PageHead, Section } from "../../ui/section";
import { ShownOnce } from "../../ui/shown-once";
import { Time } from "../../ui/time";
import { Permitted } from "../admin/permitted";
import { DetailsDialog } from "./details";
import { RedeliverDialog, WebhookDialog } from "./dialogs";
import { type WebhookRow, WebhooksDocument } from "./document";
import { documentName, OWN } from "./model";
import { NextTry, tellsOfWebhooks, WebhookStatus } from "./row";
import { deleteWebhook, rotateSecret, updateWebhook } from "./service";

/** The most channels and webhooks that there may be. */
const MOST = 200;

type Opened =
  | { readonly kind: "new" }
  | { readonly kind: "details" | "change" | "delete" | "rotate" | "redeliver"; readonly webhook: WebhookRow }
  | { readonly kind: "made"; readonly secret: string };

interface Context {
  open(opened: Opened): void;
}

function Buttons({ webhook, context }: { webhook: WebhookRow; context: Context }) {
  const { name, version, isEnabled } = webhook;
  return (
    <span class="row-actions spaced">
      <button
        type="button"
        class="button small"
        data-key="Enter"
        aria-label={`Details of webhook ${name}`}
        onClick={() => context.open({ kind: "details", webhook })}
      >
        Details
      </button>
      <Action
        class="button small"
        aria-label={`Change webhook ${name}`}
        onClick={() => context.open({ kind: "change", webhook })}
      >
        Change
      </Action>
      <Action
        class="button small"
        aria-label={`${isEnabled ? "Disable" : "Enable"} webhook ${name}`}
        onClick={() => void updateWebhook({ name, expectedVersion: version, enabled: !isEnabled }).then(report)}
      >
        {isEnabled ? "Disable" : "Enable"}
      </Action>
      <Action
        class="icon-button"
        title="Delete"
        aria-label={`Delete webhook ${name}`}
        onClick={() => context.open({ kind: "delete", webhook })}
      >
        <Icon name="trash" />
      </Action>
    </span>
  );
}

const COLUMNS: readonly Column<WebhookRow, Context>[] = [
  {
    key: "name",
    title: "Webhook",
    width: 170,
    grow: 2,
    rank: 0,
    card: "title",
    name: ({ name }) => name,
    cell: ({ name, url }) => (
      <>
        <Name text={name} />{" "}
        <span class="cell-sub dim">
          <Name text={url} />
        </span>
      </>
    ),
  },
  {
    key: "state",
    title: "State",
    width: 140,
    grow: 2,
    rank: 0,
    card: "wide",
    bare: true,
    cell: (webhook) => <WebhookStatus webhook={webhook} />,
  },
  {
    key: "document",
    title: "Posts",
    width: 130,
    grow: 1,
    rank: 2,
    card: "pair",
    cell: ({ document }) => {
      const name = documentName(document);
      return name === OWN ? <span class="dim">a document of its own</span> : name.replaceAll("-", " ");
    },
  },
  {
    key: "last",
    title: "Last success",
    width: 112,
    rank: 1,
    card: "pair",
    cell: ({ lastDeliveredAt }) =>
      lastDeliveredAt === null ? <span class="dim">none yet</span> : <Time at={lastDeliveredAt} />,
  },
  {
    key: "next",
    title: "Next try",
    width: 130,
    rank: 1,
    card: "pair",
    cell: (webhook) => <NextTry webhook={webhook} />,
  },
  {
    key: "actions",
    title: "Actions",
    untitled: true,
    width: 276,
    rank: 0,
    card: "wide",
    cell: (webhook, context) => <Buttons webhook={webhook} context={context} />,
  },
];

function Webhooks() {
  const live = useLive("webhooks", {
    document: WebhooksDocument,
    variables: () => ({ first: MOST }),
    init: ({ webhooks }) => webhooks?.nodes ?? [],
    outdates: tellsOfWebhooks,
  });
  const [opened, setOpened] = useState<Opened | null>(null);
  const context = useMemo((): Context => ({ open: setOpened }), []);
  return (
    <>
      <PageHead title="Webhooks">
        <a class="button" href="/deliveries?event=events">
          Deliveries
        </a>
        <Action class="button primary" onClick={() => setOpened({ kind: "new" })}>
          <Icon name="plus" /> New webhook
        </Action>
      </PageHead>
      <LivePart live={live} rows={6}>
        {(webhooks) => (
          <Section title="Webhooks" aside={plural(webhooks.length, "webhook")}>
            {webhooks.length === 0 ? (
              <Empty title="No webhook yet">
                <p class="dim">A webhook posts the results of a subscription to your program.</p>
                <Command text="cronograph webhooks create orders https://example.com/hook --document runs" />
              </Empty>
            ) : (
              <DataTable
                id="webhooks"
                columns={COLUMNS}
                context={context}
                rows={webhooks}
                rowId={({ name }) => name}
                tall
              />
            )}
          </Section>
        )}
      </LivePart>
      <OpenedDialog opened={opened} open={setOpened} />
    </>
  );
}

interface OpenedProps {
  opened: Opened | null;
  open: (opened: Opened | null) => void;
}

function OpenedDialog({ opened, open }: OpenedProps) {
  const close = (): void => open(null);
  switch (opened?.kind) {
    case undefined:
      return null;
    case "new":
      return <WebhookDialog onClose={close} onDone={close} />;
    case "change":
      return <WebhookDialog webhook={opened.webhook} onClose={close} onDone={close} />;
    case "details":
      return (
        <DetailsDialog
          webhook={opened.webhook}
          onClose={close}
          onRotate={(webhook) => open({ kind: "rotate", webhook })}
          onRedeliver={(webhook) => open({ kind: "redeliver", webhook })}
        />
      );
    case "redeliver":
      return <RedeliverDialog webhook={opened.webhook} onClose={close} onDone={close} />;
    case "made":
      return (
        <ShownOnce
          title="The secret"
          about="It is shown this once: give it to the receiver. Earlier secrets sign, too, until you remove them."
          secret={opened.secret}
          onClose={close}
        />
      );
    case "delete":
      return (
        <Confirm
          title={`Delete webhook ${opened.webhook.name}?`}
          action="Delete"
          danger
          onClose={close}
          onConfirm={() => deleteWebhook(opened.webhook.name).then(close)}
        >
          <p>Messages that wait are given up, and its place in the order of events is forgotten.</p>
        </Confirm>
      );
    case "rotate":
      return (
        <Confirm
          title={`Sign messages of ${opened.webhook.name} with a new secret?`}
          action="Make it"
          needs="ADMIN"
          onClose={close}
          onConfirm={async () => {
            const secret = await rotateSecret(opened.webhook);
            open(secret === null ? null : { kind: "made", secret });
          }}
        >
          <p>The secret is stored and shown once. Messages are signed with it and with the earlier ones.</p>
        </Confirm>
      );
  }
}

/** Subscriptions whose results are posted to other programs. */
export function WebhooksPage() {
  useEffect(() => setTitle("Webhooks"), []);
  return (
    <Permitted needs="OPERATOR" title="Webhooks">
      <Webhooks />
    </Permitted>
  );
}
