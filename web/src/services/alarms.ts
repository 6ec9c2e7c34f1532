import { announced, mutate, type Outcome, report } from "../api/mutate";
import { graphql, type VariablesOf } from "../api/tada";
import { plural } from "../lib/format";
import { notify } from "../state/announce";

const AcknowledgeAlarms = graphql(`
  mutation AcknowledgeAlarms($input: AcknowledgeAlarmsInput!) {
    acknowledgeAlarms(input: $input) {
      count
      errors { code message path }
    }
  }
`);

const SilenceAlarm = graphql(`
  mutation SilenceAlarm($input: SilenceAlarmInput!) {
    silenceAlarm(input: $input) {
      errors { code message path }
    }
  }
`);

const TestChannel = graphql(`
  mutation TestChannel($input: TestChannelInput!) {
    testChannel(input: $input) {
      delivery { id }
      errors { code message path }
    }
  }
`);

const RedeliverAlarm = graphql(`
  mutation RedeliverAlarm($input: RedeliverAlarmInput!) {
    redeliverAlarm(input: $input) {
      errors { code message path }
    }
  }
`);

const CreateAlarm = graphql(`
  mutation CreateAlarm($input: CreateAlarmInput!) {
    createAlarm(input: $input) {
      errors { code message path }
    }
  }
`);

const DeleteAlarm = graphql(`
  mutation DeleteAlarm($input: DeleteAlarmInput!) {
    deleteAlarm(input: $input) {
      errors { code message path }
    }
  }
`);

export type NewAlarm = VariablesOf<typeof CreateAlarm>["input"];

export async function createAlarm(input: NewAlarm): Promise<Outcome<null>> {
  const outcome = await mutate(CreateAlarm, { input }, (data) => data.createAlarm);
  return announced(outcome, `Alarm ${input.name} watches from now on`);
}

export async function deleteAlarm(name: string): Promise<void> {
  if (!report(await mutate(DeleteAlarm, { input: { name } }, (data) => data.deleteAlarm))) return;
  notify(`Alarm ${name} is deleted`);
}

/** Notes that one takes care of a firing, or of every open one. */
export async function acknowledge(which: { readonly id: string } | "all", note: string): Promise<Outcome<null>> {
  const firings = which === "all" ? { all: true } : { ids: [which.id] };
  const input = { firings, ...(note !== "" && { note }) };
  const outcome = await mutate(AcknowledgeAlarms, { input }, (data) => data.acknowledgeAlarms);
  return announced(outcome, ({ count }) => `${plural(count ?? 0, "firing")} acknowledged`);
}

/** Keeps an alarm quiet until a time. */
export async function silence(name: string, endsAt: string, reason: string): Promise<Outcome<null>> {
  const input = { name, endsAt, ...(reason !== "" && { reason }) };
  const outcome = await mutate(SilenceAlarm, { input }, (data) => data.silenceAlarm);
  return announced(outcome, `Alarm ${name} is silenced`);
}

/** Lets an alarm notify its channels again. */
export async function endSilence(name: string): Promise<void> {
  if (!report(await mutate(SilenceAlarm, { input: { name } }, (data) => data.silenceAlarm))) return;
  notify(`Alarm ${name} notifies its channels again`);
}

/** Sends a test message; the id of its delivery, or null if that was refused. */
export async function testChannel(name: string): Promise<string | null> {
  const outcome = await mutate(TestChannel, { input: { name } }, (data) => data.testChannel);
  return report(outcome) ? (outcome.value.delivery?.id ?? null) : null;
}

/** Sends a message again that was accepted or given up; whether the server does. */
export async function sendAgain(id: string): Promise<boolean> {
  const done = report(await mutate(RedeliverAlarm, { input: { id } }, (data) => data.redeliverAlarm));
  if (done) notify(`Message ${id} is sent again`);
  return done;
}
