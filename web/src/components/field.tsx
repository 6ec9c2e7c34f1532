import type { ComponentChildren } from "preact";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  wide?: boolean;
  children: ComponentChildren;
}

/** A labelled control with its hint or, instead of that, its error. */
export function Field({ label, hint, error, wide = false, children }: FieldProps) {
  return (
    <label class={wide ? "field wide" : "field"}>
      <span class="field-label">{label}</span>
      {children}
      {error === undefined ? hint !== undefined && <span class="field-hint">{hint}</span> : <span class="field-error" role="alert">{error}</span>}
    </label>
  );
}

interface TextProps {
  value: string;
  onChange: (value: string) => void;
  invalid?: boolean;
  placeholder?: string;
  list?: string;
  type?: "text" | "datetime-local" | "number";
  mono?: boolean;
  disabled?: boolean;
  describedBy?: string;
}

export function TextInput({ value, onChange, invalid = false, placeholder, list, type = "text", mono = false, disabled = false, describedBy }: TextProps) {
  return (
    <input
      class={mono ? "input mono" : "input"}
      type={type}
      value={value}
      placeholder={placeholder}
      list={list}
      disabled={disabled}
      step={type === "datetime-local" ? 1 : undefined}
      aria-invalid={invalid}
      aria-describedby={describedBy}
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface SelectProps {
  value: string;
  onChange: (value: string) => void;
  options: readonly (readonly [value: string, word: string])[];
}

export function Select({ value, onChange, options }: SelectProps) {
  return (
    <select class="select" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {options.map(([option, word]) => (
        <option key={option} value={option}>
          {word}
        </option>
      ))}
    </select>
  );
}
