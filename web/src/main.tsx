import { render } from "preact";
import { App } from "./app";
import { startLive } from "./live";
import { startPrefs } from "./state/prefs";
import { startRouter } from "./state/route";

startPrefs();
startRouter();
startLive();

const root = document.getElementById("app");
if (root === null) throw new Error("index.html must contain an element with the id 'app'");
render(<App />, root);
