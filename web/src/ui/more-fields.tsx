/** Controls that few forms have: their code does not come with every page. */
import { useContext, useId } from "preact/hooks";
import { SPAN_UNITS, type Span, type SpanUnit } from "../lib/spans";
import { FieldContext, FieldNote, type FieldProps, type SelectProps, TextInput, type TextProps } from "./field";

/** Text of several lines: prose, or code if `mono`. */
export function TextLines({
  value,
  onChange,
  invalid = false,
  mono = false,
}: Pick<TextProps, "value" | "onChange" | "invalid" | "mono">) {
  const field = useContext(FieldContext);
  return (
    <textarea
      id={field?.id}
      class={mono ? "textarea" : "textarea prose"}
      rows={mono ? 6 : 3}
      spellcheck={!mono}
      value={value}
      aria-invalid={invalid}
      aria-describedby={field?.describedBy}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface SpanProps {
  value: Span;
  onChange: (value: Span) => void;
  invalid?: boolean;
}

/** A span of time: a number, and its unit in the same line. */
export function SpanInput({ value, onChange, invalid = false }: SpanProps) {
  return (
    <span class="with-unit">
      <TextInput
        value={value.count}
        onChange={(count) => onChange({ ...value, count })}
        invalid={invalid}
        inputMode="decimal"
      />
      <select
        class="select"
        aria-label="Unit"
        value={value.unit}
        onChange={(event) => onChange({ ...value, unit: event.currentTarget.value as SpanUnit })}
      >
        {SPAN_UNITS.map(([unit, word]) => (
          <option key={unit} value={unit}>
            {word}
          </option>
        ))}
      </select>
    </span>
  );
}

type ChoicesProps = Pick<FieldProps, "label" | "hint" | "error"> & Pick<SelectProps, "value" | "onChange" | "options">;

/** All that there is to choose from, at one look. */
export function Choices({ label, hint, error, value, onChange, options }: ChoicesProps) {
  const id = useId();
  const about = `${id}-about`;
  return (
    <fieldset class="field choices" aria-describedby={about}>
      <legend class="field-label">{label}</legend>
      {options.map(([option, word], place) => (
        <label key={option} class="choice">
          <input
            type="radio"
            name={id}
            value={option}
            checked={option === value}
            data-invalid={place === 0 && error !== undefined}
            onChange={() => onChange(option)}
          />
          {word}
        </label>
      ))}
      <FieldNote id={about} hint={hint} error={error} />
    </fieldset>
  );
}
