import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";

/** What a field tells the control in it: its id, and the id of the hint or error that describes it. */
export const FieldContext = createContext<{ readonly id: string; readonly describedBy: string } | null>(null);

export interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** What stands behind the label, such as another way to fill it. */
  aside?: ComponentChildren;
  /** Of a number: it stands behind the control, and in its name. */
  unit?: string;
  children: ComponentChildren;
}

/** A labelled control with its hint or, instead of that, its error. */
export function Field({ label, hint, error, aside, unit, children }: FieldProps) {
  const id = useId();
  const describedBy = `${id}-about`;
  return (
    <div class="field">
      <span class="field-head">
        <label class="field-label" for={id}>
          {label}
          {unit !== undefined && <span class="visually-hidden"> ({unit})</span>}
        </label>
        {aside}
      </span>
      <FieldContext.Provider value={{ id, describedBy }}>
        {unit === undefined ? (
          children
        ) : (
          <span class="with-unit">
            {children}
            <span class="dim" aria-hidden="true">
              {unit}
            </span>
          </span>
        )}
      </FieldContext.Provider>
      <FieldNote id={describedBy} hint={hint} error={error} />
    </div>
  );
}

/** A small button behind a field's label. */
export function FieldButton({ onClick, children }: { onClick: () => void; children: ComponentChildren }) {
  return (
    <button type="button" class="link-button" onClick={onClick}>
      {children}
    </button>
  );
}

export interface TextProps {
  value: string;
  onChange: (value: string) => void;
  invalid?: boolean;
  placeholder?: string;
  list?: string;
  type?: "text" | "date" | "datetime-local" | "number";
  mono?: boolean;
  /** The keys that a phone offers. */
  inputMode?: "numeric" | "decimal" | undefined;
  /** The id of a further description, besides the field's hint or error. */
  describedBy?: string;
}

export function TextInput({
  value,
  onChange,
  invalid = false,
  placeholder,
  list,
  type = "text",
  mono = false,
  inputMode,
  describedBy,
}: TextProps) {
  const field = useContext(FieldContext);
  return (
    <input
      id={field?.id}
      class={mono ? "input mono" : "input"}
      type={type}
      value={value}
      placeholder={placeholder}
      list={list}
      inputMode={inputMode}
      step={type === "datetime-local" ? 1 : undefined}
      aria-invalid={invalid}
      aria-describedby={[field?.describedBy, describedBy].filter((name) => name !== undefined).join(" ")}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

type HiddenProps = Pick<TextProps, "value" | "onChange" | "invalid"> & {
  /** What a browser may fill in; something new unless told otherwise. */
  remembered?: "current-password";
};

/** A text that nobody reads over one's shoulder. */
export function HiddenInput({ value, onChange, invalid = false, remembered }: HiddenProps) {
  const field = useContext(FieldContext);
  return (
    <input
      id={field?.id}
      class="input"
      type="password"
      value={value}
      aria-invalid={invalid}
      aria-describedby={field?.describedBy}
      autocomplete={remembered ?? "new-password"}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export interface SelectProps {
  invalid?: boolean;
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [value: string, word: string])[];
}

export function Select({ value, onChange, options, invalid = false }: SelectProps) {
  const field = useContext(FieldContext);
  return (
    <select
      id={field?.id}
      class="select"
      value={value}
      aria-invalid={invalid}
      aria-describedby={field?.describedBy}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {options.map(([option, word]) => (
        <option key={option} value={option}>
          {word}
        </option>
      ))}
    </select>
  );
}

/** The error of a field, or else its hint. */
export function FieldNote({ id, hint, error }: Pick<FieldProps, "hint" | "error"> & { id: string }) {
  if (error !== undefined) {
    return (
      <span class="field-error" id={id} role="alert">
        {error}
      </span>
    );
  }
  if (hint === undefined) return null;
  return (
    <span class="field-hint" id={id}>
      {hint}
    </span>
  );
}

/**
 * Leads to the first field of a form that cannot be sent as it is, once its error is shown; the alert beside it is read
 * aloud.
 */
export function focusFault(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => {
    const field = form?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid="true"]');
    // It may lie among the policies, which are folded away.
    const folded = field?.closest("details");
    if (folded != null) folded.open = true;
    field?.focus();
  });
}
