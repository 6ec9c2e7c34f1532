import { render } from "preact";
import { App } from "./app";
import { startLinks } from "./lib/links";
import { feed, link, startLive } from "./live";
import { startHealth } from "./live/health";
import { startNarrator } from "./live/narrator";
import { startTitle } from "./live/title";
import { startViewer } from "./live/viewer";
import { startFocusKeeper } from "./state/focus";
import { startPrefs } from "./state/prefs";
import { startRouter } from "./state/route";

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
