import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { at } from "../lib/base";
import { byName, byNumber, type Command, ranked } from "../model/palette";
import { viewCommands } from "../model/views";
import { useNames } from "../services/suggest";
import { useViews } from "../services/views";
import { NAV } from "../state/pages";
import { navigate } from "../state/route";
import { Dialog } from "../ui/dialog";
import { Icon } from "../ui/icon";

/** So many commands are offered at most. */
const MOST = 12;
/** From so many letters on names are asked for. */
const ASK_FROM = 1;

const TO_PAGES: readonly Command[] = NAV.map(({ href, label, icon }) => ({
  id: `page ${href}`,
  icon,
  label,
  kind: "page",
  href,
  press: null,
}));

const TITLES: ReadonlyMap<string, string> = new Map(NAV.map(({ href, label }) => [href, label]));

/** The actions of the page that is open, as its head offers them; what cannot be pressed now is left out. */
function pageButtons(): readonly HTMLButtonElement[] {
  return [...document.querySelectorAll<HTMLButtonElement>("main .page-head button:not(:disabled, [aria-disabled])")];
}

function toPress(buttons: readonly HTMLButtonElement[]): readonly Command[] {
  return buttons.flatMap((button, place): readonly Command[] => {
    const label = button.getAttribute("aria-label") ?? button.textContent.trim();
    return label === ""
      ? []
      : [{ id: `press ${place}`, icon: "spark", label, kind: "on this page", href: null, press: place }];
  });
}

/** Goes to any page, saved view, task, job, group or number, and does what the open page offers, by keyboard alone. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useId();
  // As the page was when the palette was opened.
  const buttons = useMemo(pageButtons, []);
  const asked = typed.trim().length >= ASK_FROM;
  const tasks = useNames("task", typed.trim(), asked);
  const jobs = useNames("job", typed.trim(), asked);
  const groups = useNames("group", typed.trim(), asked);
  const views = useViews(true)?.views;
  const fixed = useMemo(
    () => [...toPress(buttons), ...TO_PAGES, ...viewCommands(views ?? [], TITLES)],
    [buttons, views],
  );
  const named = asked ? [...byName("task", tasks), ...byName("job", jobs), ...byName("group", groups)] : [];
  const commands = [...byNumber(typed), ...ranked([...fixed, ...named], typed, MOST)];
  const current = Math.min(chosen, commands.length - 1);
  useEffect(() => document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: "nearest" }), [current]);
  const act = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    const button = command.press === null ? undefined : buttons[command.press];
    // Once the palette is gone, so that a dialog which opens now gets the focus.
    if (button !== undefined) window.setTimeout(() => button.click());
    else if (command.href === "/graphiql") location.assign(at(command.href));
    else if (command.href !== null) navigate(command.href);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setChosen((current + step + commands.length) % Math.max(1, commands.length));
    else if (event.key === "Enter") act(commands[current]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to…" onClose={onClose} askBefore={false}>
      <input
        class="input palette-input"
        role="combobox"
        aria-label="Page, view, task, job, group, number or action"
        aria-expanded={commands.length > 0}
        aria-controls={list}
        aria-activedescendant={commands.length === 0 ? undefined : `${list}-${current}`}
        autocomplete="off"
        spellcheck={false}
        placeholder="Page, view, task, job, group, number or action"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={list} class="palette-list" role="listbox" aria-label="Where to">
        {commands.map((command, place) => (
          <li
            key={command.id}
            id={`${list}-${place}`}
            class="palette-item"
            role="option"
            aria-selected={place === current}
            onPointerMove={() => setChosen(place)}
            onClick={() => act(command)}
          >
            <Icon name={command.icon} />
            <span class="palette-label" title={command.label}>
              {command.label}
            </span>
            <span class="dim">{command.kind}</span>
          </li>
        ))}
      </ul>
      {commands.length === 0 && (
        <p class="dim" role="status">
          Nothing here is called that.
        </p>
      )}
    </Dialog>
  );
}
