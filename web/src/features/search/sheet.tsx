import type { ComponentChildren } from "preact";
import { ClearFilters, SelectFilter, TextFilter } from "../../parts/filters";
import { searchParams } from "../../state/route";
import { Dialog } from "../../ui/dialog";
import { filtersOf, type Term, type Vocabulary } from "./model";

interface FilterSheetProps {
  vocabulary: Vocabulary;
  order: ComponentChildren;
  /** Whether there is something to clear. */
  clear: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * All filters of a list one below the other, with its order and its tools: comes from below on a phone. What is chosen
 * takes effect at once.
 */
export function FilterSheet({ vocabulary, order, clear, onClose, children }: FilterSheetProps) {
  return (
    <Dialog title="Filters" onClose={onClose} askBefore={false}>
      <div class="filter-sheet">
        <Line label={vocabulary.label}>
          <TextFilter
            name={vocabulary.param}
            value={searchParams.value.get(vocabulary.param) ?? ""}
            label={vocabulary.label}
          />
        </Line>
        {vocabulary.terms
          .filter(({ tab }) => tab !== true)
          .map((term) => (
            <Line key={term.param} label={term.label}>
              <Control term={term} value={searchParams.value.get(term.param) ?? ""} />
            </Line>
          ))}
        {order !== undefined && <Line label="Order">{order}</Line>}
        <div class="filter-sheet-tools">{children}</div>
        <div class="form-actions">
          {clear && <ClearFilters names={filtersOf(vocabulary)} />}
          <button type="button" class="button primary" onClick={onClose}>
            Show the list
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Line({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="filter-sheet-line">
      <span class="field-label" aria-hidden="true">
        {label}
      </span>
      {children}
    </div>
  );
}

function Control({ term, value }: { term: Term; value: string }) {
  const { param, label, options, names, exact = false } = term;
  if (options !== undefined)
    return <SelectFilter name={param} value={value} label={label} all="Any" options={options} />;
  return (
    <TextFilter
      name={param}
      value={value}
      label={label}
      exact={exact || term.form !== undefined}
      {...(names !== undefined && { names })}
    />
  );
}
