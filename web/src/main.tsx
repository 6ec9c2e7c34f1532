import { render } from "preact";
import { App } from "./app";
import { feed, link, startLive } from "./live";
import { startLinks } from "./lib/links";
import { startNarrator } from "./live/narrator";
import { startFocusKeeper } from "./state/focus";
import { startHealth } from "./state/health";
import { startPrefs } from "./state/prefs";
import { startRouter } from "./state/route";
import { startTitle } from "./state/title";
import { startViewer } from "./state/viewer";

startLinks();
startPrefs();
startRouter();
startLive();
startHealth();
startTitle();
startFocusKeeper();
startViewer();
startNarrator(feed, link);

const root = document.getElementById("app");
if (root === null) throw new Error("index.html must contain an element with the id 'app'");
render(<App />, root);
