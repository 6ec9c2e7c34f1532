import { expect, test } from "vitest";
import { atFields, channelOf, formOf, KINDS, NEW, shownOf } from "./channel-form";

test("what is typed becomes the channel, and an empty field its default", () => {
  const mail = { recipients: "a@example.com, b@example.com,", sender: " ops@example.com", host: "mx", port: "" };
  expect(channelOf({ ...NEW, name: " ops ", kind: "mail", values: mail }, null)).toEqual({
    name: "ops",
    settings: { mail: { recipients: ["a@example.com", "b@example.com"], sender: "ops@example.com", host: "mx" } },
  });
  expect(channelOf({ ...NEW, name: "ops", kind: "webhook" }, null)).toEqual({
    name: "ops",
    settings: { webhook: { url: "", secrets: [] } },
  });
});

test("a choice that nobody made shows the one that is meant", () => {
  const shown = (kind: string, form = { ...NEW, kind }) =>
    (KINDS.find(({ key }) => key === kind)?.fields ?? []).map((field) => [field.name, shownOf(field, form)]);
  expect(Object.fromEntries(shown("chat"))).toEqual({ urlSecret: "", form: "SLACK" });
  expect(Object.fromEntries(shown("mail"))).toMatchObject({ tls: "STARTTLS", port: "" });
  expect(shown("chat", formOf("ops", { kind: "chat", form: "teams" }))).toContainEqual(["form", "TEAMS"]);
});

test("a channel that nobody changes in its form stays as it is", () => {
  const route = { severities: ["critical"], groups: ["a", "b"], labels: { team: "data", tier: "1" } };
  const stored = {
    kind: "mail",
    recipients: ["a@example.com", "b@example.com"],
    sender: "ops@example.com",
    host: "mx",
    port: 465,
    tls: "implicit",
    username: "ops,night",
    password_secret: "mail-key",
    route,
  };
  const { kind: _, password_secret: passwordSecret, tls: __, route: ___, ...rest } = stored;
  expect(channelOf(formOf("ops", stored), stored)).toEqual({
    name: "ops",
    settings: { mail: { ...rest, tls: "IMPLICIT", passwordSecret } },
    route: { ...route, severities: ["CRITICAL"] },
  });
});

test("a stored URL is not in the form, and stays unless another is typed or another kind chosen", () => {
  const stored = { kind: "alertmanager", url: "https://example.com/?token=abc" };
  const form = formOf("ops", stored);
  expect(JSON.stringify(form)).not.toContain("example.com");
  expect(channelOf(form, stored)).toEqual({ name: "ops", settings: { alertmanager: { url: stored.url } } });
  const values = { url: "https://example.com/new" };
  expect(channelOf({ ...form, values }, stored)).toEqual({ name: "ops", settings: { alertmanager: values } });
  expect(channelOf({ ...form, kind: "webhook", values: {} }, stored)).toEqual({
    name: "ops",
    settings: { webhook: { url: "", secrets: [] } },
  });
});

test("labels and numbers that cannot be read are refused at their fields", () => {
  expect(channelOf({ ...NEW, isRouted: true, labels: "team" }, null)).toMatchObject([{ path: ["labels"] }]);
  expect(channelOf({ ...NEW, kind: "mail", values: { port: "smtp" } }, null)).toMatchObject([{ path: ["port"] }]);
});

test("what the server says of a setting stands at its field, of each kind", () => {
  for (const { key, fields } of KINDS)
    for (const { name } of fields) {
      const error = { code: "INVALID_INPUT", message: "…", path: ["settings", key, name, "0"] };
      expect(atFields([error], key)[0]?.path[0]).toBe(name);
    }
  expect(atFields([{ code: "INVALID_INPUT", message: "…", path: ["route"] }], "chat")[0]?.path).toEqual(["route"]);
});
