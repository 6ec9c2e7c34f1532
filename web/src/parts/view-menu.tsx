import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Outcome, report } from "../api/mutate";
import { whyNot } from "../live/viewer";
import { type SavedView, viewsOf, withoutPage } from "../model/views";
import { deleteView, saveView, updateView, useViews } from "../services/views";
import { notify } from "../state/announce";
import { Icon } from "../ui/icon";

interface ViewMenuProps {
  path: string;
  search: string;
}

/**
 * The saved views of a list, one's own and the team's: to go there, to rename and to delete them, and to save what is
 * shown.
 */
export function ViewMenu({ path, search }: ViewMenuProps) {
  const known = useViews(true);
  const [edited, setEdited] = useState<string | null>(null);
  /** The view whose form has just gone: its line gets the focus. */
  const [left, setLeft] = useState<string | null>(null);
  if (known === null) return <p class="field-hint">Reading the views…</p>;
  const views = viewsOf(known.views, path);
  const leave = (id: string): void => {
    setEdited(null);
    setLeft(id);
  };
  const line = (view: SavedView): ComponentChildren =>
    edited === view.id ? (
      <ViewForm
        key={view.id}
        view={view}
        search={search}
        submit="Change"
        onDone={() => leave(view.id)}
        onSave={(name, shared, here) => updateView(view.id, { name, shared, search: here ? search : null })}
      />
    ) : (
      <ViewLine
        key={view.id}
        view={view}
        current={view.search === withoutPage(search)}
        focused={view.id === left}
        onEdit={() => setEdited(view.id)}
      />
    );
  return (
    <>
      {known.error !== null && (
        <p class="field-error" role="alert">
          The views could not be read: {known.error}
        </p>
      )}
      {views.filter(({ isShared }) => !isShared).map(line)}
      {views.some(({ isShared }) => isShared) && <span class="field-label">Team</span>}
      {views.filter(({ isShared }) => isShared).map(line)}
      {views.length === 0 && known.error === null && (
        <p class="field-hint">Filters and order under a name, for you or for the team.</p>
      )}
      {edited === null && (
        <ViewForm
          view={null}
          search={search}
          submit="Save"
          onDone={() => undefined}
          onSave={(name, shared) => saveView(path, name, search, shared)}
        />
      )}
    </>
  );
}

interface ViewLineProps {
  view: SavedView;
  /** Whether the list is as the view has it. */
  current: boolean;
  /** Whether its form has just gone. */
  focused: boolean;
  onEdit: () => void;
}

function ViewLine({ view, current, focused, onEdit }: ViewLineProps) {
  const change = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (focused) change.current?.focus();
  }, []);
  const obstacle = view.isShared ? whyNot("OPERATOR") : null;
  const remove = async (menu: Element | null): Promise<void> => {
    if (!report(await deleteView(view.id))) return;
    // The line goes, with the button that was pressed.
    menu?.querySelector("summary")?.focus();
    const undo = async (): Promise<void> =>
      void report(await saveView(view.page, view.name, view.search, view.isShared));
    notify(`View ${view.name} is deleted`, { action: { label: "Undo", run: () => void undo() } });
  };
  return (
    <span class="menu-line">
      <a href={view.page + view.search} title={view.name} aria-current={current ? "true" : undefined}>
        {view.name}
      </a>
      {obstacle === null && (
        <>
          <button
            ref={change}
            type="button"
            class="icon-button"
            aria-label={`Change the view ${view.name}`}
            onClick={onEdit}
          >
            <Icon name="edit" />
          </button>
          <button
            type="button"
            class="icon-button"
            aria-label={`Delete the view ${view.name}`}
            onClick={({ currentTarget }) => void remove(currentTarget.closest("details"))}
          >
            <Icon name="trash" />
          </button>
        </>
      )}
    </span>
  );
}

interface ViewFormProps {
  /** The one that is changed; null for a new one. */
  view: SavedView | null;
  search: string;
  submit: string;
  onSave: (name: string, shared: boolean, here: boolean) => Promise<Outcome<unknown>>;
  onDone: () => void;
}

function ViewForm({ view, search, submit, onSave, onDone }: ViewFormProps) {
  const [name, setName] = useState(view?.name ?? "");
  const [shared, setShared] = useState(view?.isShared ?? false);
  const [here, setHere] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const about = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The button that opened it has gone.
    if (view !== null) field.current?.focus();
  }, []);
  const obstacle = whyNot("OPERATOR");
  const send = async (): Promise<void> => {
    const outcome = name.trim() === "" ? null : await onSave(name.trim(), shared, here);
    setFault(
      outcome === null
        ? "A view needs a name"
        : outcome.ok
          ? null
          : outcome.errors.map(({ message }) => message).join("; "),
    );
    if (outcome?.ok !== true) return;
    if (view === null) setName("");
    onDone();
  };
  return (
    <form
      class="menu-form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <span class="menu-form-line">
        <input
          ref={field}
          class="input"
          aria-label="Name of this view"
          placeholder="Name of this view"
          aria-invalid={fault !== null}
          aria-describedby={about}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          {submit}
        </button>
      </span>
      {obstacle === null && (
        <label class="menu-line">
          <input type="checkbox" checked={shared} onChange={(event) => setShared(event.currentTarget.checked)} />
          for the team
        </label>
      )}
      {view !== null && view.search !== withoutPage(search) && (
        <label class="menu-line">
          <input type="checkbox" checked={here} onChange={(event) => setHere(event.currentTarget.checked)} />
          with the filters of now
        </label>
      )}
      {fault !== null && (
        <span class="field-error" id={about} role="alert">
          {fault}
        </span>
      )}
      {view !== null && (
        <button type="button" class="link-button" onClick={onDone}>
          Leave it as it is
        </button>
      )}
    </form>
  );
}
