// Drives graphql-ws and graphql-sse as a JavaScript program would; prints what happened as one JSON object.
// Arguments: the package.json whose modules are used, the protocol (ws or sse), the address of the server.
import { createRequire } from "node:module";

const [home, protocol, url] = process.argv.slice(2);
const load = createRequire(home);

function connect() {
  if (protocol === "ws") {
    const { createClient } = load("graphql-ws");
    return createClient({ url: `${url.replace("http", "ws")}/graphql`, webSocketImpl: load("ws"), retryAttempts: 0 });
  }
  const { createClient } = load("graphql-sse");
  return createClient({ url: `${url}/graphql`, retryAttempts: 0 });
}

const client = connect();

async function ask(query, variables) {
  for await (const answer of client.iterate({ query, variables })) return answer;
  throw new Error("no answer");
}

async function follow(query, variables, isLast) {
  const answers = [];
  for await (const answer of client.iterate({ query, variables })) {
    answers.push(answer);
    if (isLast(answer)) break;
  }
  return answers;
}

async function refusal(query) {
  try {
    return (await ask(query)).errors;
  } catch (error) {
    return Array.isArray(error) ? error : [{ message: String(error) }];
  }
}

const jobs = await ask("{ availableJobs { name } }");
const { data } = await ask("{ asOf }");
const made = await ask(
  "mutation Nap($args: JSON) { triggerJob(jobName: \"nap\", args: $args) { success message run { id } } }",
  { args: { seconds: 0 } },
);
const run = made.data.triggerJob.run.id;
const events = await follow(
  "subscription Follow($after: String, $run: ID) { events(after: $after, filter: { runId: $run }) { cursor kind } }",
  { after: data.asOf, run },
  (answer) => answer.data.events.kind === "EXECUTION_FINISHED",
);
const states = await follow("subscription Run($id: ID!) { run(id: $id) { state } }", { id: run }, () => false);
const refused = await refusal("subscription { nothing }");
const after = await ask("{ serverTime }");
// 2^60 + 1: more digits than a number of JavaScript has.
const counting = await ask(
  "mutation { triggerJob(jobName: \"count\", args: { records: 1152921504606846977 }) { run { id } } }",
);
const counted = counting.data.triggerJob.run.id;
await follow("subscription Run($id: ID!) { run(id: $id) { state } }", { id: counted }, () => false);
const executed = await ask("query Records($id: ID!) { run(id: $id) { executions { nodes { recordsProcessed } } } }", {
  id: counted,
});
client.dispose();

console.log(
  JSON.stringify({
    jobs: jobs.data.availableJobs.map((job) => job.name),
    message: made.data.triggerJob.message,
    kinds: events.map((answer) => answer.data.events.kind),
    cursors: events.map((answer) => answer.data.events.cursor),
    states: states.map((answer) => answer.data.run.state),
    refused,
    time: after.data.serverTime,
    records: String(BigInt(executed.data.run.executions.nodes[0].recordsProcessed)),
  }),
);
