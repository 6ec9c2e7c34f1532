// Says of each message what the JavaScript library of Standard Webhooks makes of it, and how it would sign it.
import { Webhook } from "standardwebhooks";

let text = "";
for await (const part of process.stdin) text += part;
const answers = JSON.parse(text).map(({ secret, headers, body }) => {
  const webhook = new Webhook(secret);
  const at = new Date(1000 * Number(headers["webhook-timestamp"]));
  const signed = webhook.sign(headers["webhook-id"], at, body);
  try {
    return { signed, verified: webhook.verify(body, headers), error: null };
  } catch (error) {
    return { signed, verified: null, error: String(error.message) };
  }
});
process.stdout.write(JSON.stringify(answers));
