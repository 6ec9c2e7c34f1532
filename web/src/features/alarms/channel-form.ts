/** The kinds of channels with their settings, as a form asks for them. Pure. */
import type { UserError } from "../../api/mutate";
import { labelsOf } from "../../lib/labels";
import { readLabels } from "../../model/task-form";
import type { ChannelSet } from "../../services/channels";

/** `list`: texts with commas between; `secret` and `secrets`: names of stored ones. */
interface ChannelField {
  readonly name: string;
  readonly label: string;
  readonly as: "text" | "url" | "number" | "list" | "secret" | "secrets" | readonly (readonly [string, string])[];
  readonly hint?: string;
  /** What an empty one says. */
  readonly otherwise?: string;
}

export interface ChannelKind {
  readonly key: string;
  readonly word: string;
  readonly fields: readonly ChannelField[];
}

export const KINDS: readonly ChannelKind[] = [
  {
    key: "chat",
    word: "a chat: Slack, Teams or one like them",
    fields: [
      { name: "urlSecret", label: "Secret with the URL of its incoming webhook", as: "secret" },
      {
        name: "form",
        label: "Messages are",
        as: [
          ["SLACK", "blocks: Slack, Mattermost, Rocket.Chat"],
          ["TEAMS", "cards: Microsoft Teams"],
        ],
      },
    ],
  },
  {
    key: "mail",
    word: "mailboxes",
    fields: [
      { name: "recipients", label: "To", as: "list", hint: "With commas between" },
      { name: "sender", label: "From", as: "text" },
      { name: "host", label: "Mail server", as: "text" },
      { name: "port", label: "Port", as: "number", hint: "Empty: 587" },
      {
        name: "tls",
        label: "Connections are",
        as: [
          ["STARTTLS", "encrypted after their begin (STARTTLS)"],
          ["IMPLICIT", "encrypted from their begin"],
          ["NONE", "not encrypted"],
        ],
      },
      { name: "username", label: "Name for the sign-in", as: "text", hint: "Empty: none" },
      { name: "passwordSecret", label: "Secret with the password", as: "secret", otherwise: "none" },
    ],
  },
  {
    key: "webhook",
    word: "a program that takes signed JSON",
    fields: [
      { name: "url", label: "URL", as: "url" },
      { name: "secrets", label: "Secrets that sign, 1 to 3", as: "secrets" },
    ],
  },
  {
    key: "alertmanager",
    word: "Alertmanager",
    fields: [{ name: "url", label: "URL", as: "url", hint: "Without /api/v2/alerts" }],
  },
  {
    key: "apprise",
    word: "any service that Apprise knows",
    fields: [{ name: "urlSecret", label: "Secret with its URL", as: "secret", hint: "Such as tgram://token/chat" }],
  },
];

const SEVERITIES = ["INFO", "WARNING", "CRITICAL"] as const;

/** What is typed and chosen. */
export interface ChannelForm {
  readonly name: string;
  readonly kind: string;
  /** By the names of the settings; of several secrets their names. */
  readonly values: Readonly<Record<string, string | readonly string[]>>;
  readonly isRouted: boolean;
  readonly severities: readonly string[];
  readonly groups: string;
  readonly labels: string;
}

export const NEW: ChannelForm = {
  name: "",
  kind: "chat",
  values: {},
  isRouted: false,
  severities: [],
  groups: "",
  labels: "",
};

type Definition = Readonly<Record<string, unknown>> & { readonly kind?: string; readonly route?: Definition };

/** The form of a channel as a task file has it; its URL stays out, for its query may be secret. */
export function formOf(name: string, definition: unknown): ChannelForm {
  const { kind = NEW.kind, route, ...settings } = definition as Definition;
  const values: Record<string, string | readonly string[]> = {};
  for (const { name: field, as } of kindOf(kind).fields) {
    const value = settings[field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    if (value === undefined || as === "url") continue;
    if (as === "secrets") values[field] = value as readonly string[];
    else if (as === "list") values[field] = (value as readonly string[]).join(", ");
    else values[field] = Array.isArray(as) ? String(value).toUpperCase() : String(value);
  }
  return {
    name,
    kind,
    values,
    isRouted: route !== undefined,
    severities: ((route?.["severities"] ?? []) as readonly string[]).map((each) => each.toUpperCase()),
    groups: ((route?.["groups"] ?? []) as readonly string[]).join(", "),
    labels: labelsOf(route?.["labels"])
      .map((pair) => pair.join("="))
      .join(", "),
  };
}

export function kindOf(key: string): ChannelKind {
  const found = KINDS.find((each) => each.key === key);
  if (found === undefined) throw new Error(`no form asks for a channel of kind ${key}`);
  return found;
}

/** What a field shows; of choices the first one is meant unless another is chosen. */
export function shownOf({ name, as }: ChannelField, form: ChannelForm): string {
  const value = form.values[name];
  if (typeof value === "string" && value !== "") return value;
  return typeof as === "string" ? "" : (as[0]?.[0] ?? "");
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function settingOf({ as }: ChannelField, value: string | readonly string[]): unknown {
  if (typeof value !== "string") return value;
  if (as === "list") return listOf(value);
  return as === "number" ? Number(value) : value.trim();
}

/**
 * The channel as the API takes it, or what is wrong with it. `definition`: what is stored; an empty URL stays as it is
 * there.
 */
export function channelOf(form: ChannelForm, definition: unknown): ChannelSet | readonly UserError[] {
  const { key, fields } = kindOf(form.kind);
  const stored = (definition ?? {}) as Definition;
  const settings = fields.flatMap((field) => {
    const value = form.values[field.name] ?? "";
    if (value !== "") return [[field.name, settingOf(field, value)] as const];
    if (field.as === "url" && stored.kind === key) return [[field.name, stored[field.name]] as const];
    // What has a default and is empty is not sent; the server judges the others.
    const isLeftOut =
      Array.isArray(field.as) || field.as === "number" || /^(username|passwordSecret)$/.test(field.name);
    return isLeftOut ? [] : [[field.name, field.as === "secrets" || field.as === "list" ? [] : ""] as const];
  });
  const labels = readLabels(form.labels);
  if (typeof labels === "string") return [{ code: "INVALID_INPUT", message: labels, path: ["labels"] }];
  if (fields.some(({ name, as }) => as === "number" && !/^\d*$/.test(String(form.values[name] ?? "").trim())))
    return [{ code: "INVALID_INPUT", message: "Write a whole number", path: ["port"] }];
  const severities = SEVERITIES.filter((each) => form.severities.includes(each));
  const route = { severities, groups: listOf(form.groups), labels };
  // Which settings a kind has is a matter of the list above.
  const input = { name: form.name.trim(), settings: { [key]: Object.fromEntries(settings) } } as unknown as ChannelSet;
  return form.isRouted ? { ...input, route } : input;
}

/** What the server says of a channel, each at the field that it is about. */
export function atFields(errors: readonly UserError[], kind: string): readonly UserError[] {
  return errors.map((error) => {
    const path = error.path[0] === "settings" ? error.path.slice(1) : error.path;
    const rest = path.length > 1 && (path[0] === kind || path[0] === "route") ? path.slice(1) : path;
    return { ...error, path: rest };
  });
}
