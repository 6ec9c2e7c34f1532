// A real OpenID provider (oidc-provider) whose visitors need not type: the one who comes is who was last put to
// /visitor. Started by the tests: node provider.mjs <folder of node_modules> <port> <redirect address>
import { createServer } from "node:http"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const [modules, port, redirect] = process.argv.slice(2)
const { Provider } = await import(pathToFileURL(join(modules, "oidc-provider", "lib", "index.js")).href)
const issuer = `http://localhost:${port}`
let visitor = {}

const provider = new Provider(issuer, {
  clients: [{ client_id: "cronograph", client_secret: "a secret: with % and +", redirect_uris: [redirect] }],
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, interaction) => `/visit/${interaction.uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...visitor.claims }) }),
})
const answer = provider.callback()

async function body(request) {
  const parts = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

async function visit(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  if (visitor.refuses) {
    return provider.interactionFinished(request, response, { error: "access_denied" })
  }
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: visitor.sub } })
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
  grant.addOIDCScope("openid profile")
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
}

createServer(async (request, response) => {
  if (request.url === "/visitor") {
    visitor = JSON.parse(await body(request))
    response.end("ok")
  } else if (request.url.startsWith("/visit/")) {
    await visit(request, response)
  } else {
    answer(request, response)
  }
}).listen(Number(port), "localhost", () => console.log("ready"))
