import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ClearFilters } from "../../parts/filters";
import { searchParams } from "../../state/route";
import { Icon } from "../../ui/icon";
import { lazy } from "../../ui/lazy";
import { SearchField } from "./field";
import { filtersOf, type Vocabulary } from "./model";

const FilterSheet = lazy(() => import("./sheet").then((module) => module.FilterSheet), "overlay");

interface SearchBarProps {
  vocabulary: Vocabulary;
  /** The choice of an order, if the list has one. */
  order?: ComponentChildren;
  /** What else can be done with the list. */
  children?: ComponentChildren;
}

/**
 * The search of a list, and what can be done with it, in a line above it; on a phone all but the field is in a sheet.
 */
export function SearchBar({ vocabulary, order, children }: SearchBarProps) {
  const [open, setOpen] = useState(false);
  const names = filtersOf(vocabulary);
  const set = names.filter((name) => searchParams.value.has(name));
  return (
    <div class="filter-bar" role="search">
      <SearchField vocabulary={vocabulary} />
      <button
        type="button"
        class="button filter-more"
        aria-haspopup="dialog"
        aria-label={set.length === 0 ? "Filters" : `Filters, ${set.length} set`}
        onPointerDown={FilterSheet.preload}
        onClick={() => setOpen(true)}
      >
        Filters{set.length > 0 && ` ${set.length}`} <Icon name="down" />
      </button>
      {order}
      {set.length > 0 && <ClearFilters names={names} />}
      {children}
      {open && (
        <FilterSheet vocabulary={vocabulary} order={order} clear={set.length > 0} onClose={() => setOpen(false)}>
          {children}
        </FilterSheet>
      )}
    </div>
  );
}
