import { describe, expect, test } from "vitest";
import {
  byNumber,
  byText,
  changed,
  type ListRule,
  type ListState,
  listOf,
  stillChosen,
  thenBy,
  togglePage,
} from "./live-list";

interface Row {
  readonly id: string;
  readonly state?: string | null;
  readonly next?: string | null;
}

const SIZE = 3;

/** A page in the order of falling ids, as the log has it. */
function rule(more: Partial<ListRule<Row>> = {}): ListRule<Row> {
  return {
    id: (row) => row.id,
    matches: () => true,
    order: (left, right) => byNumber(right.id, left.id),
    first: true,
    size: SIZE,
    ...more,
  };
}

function page(ids: readonly string[], more = false, totalCount?: number): ListState<Row> {
  return listOf({
    nodes: ids.map((id) => ({ id })),
    pageInfo: { hasNextPage: more, endCursor: "end" },
    ...(totalCount === undefined ? {} : { totalCount }),
  });
}

function ids(list: ListState<Row>): readonly string[] {
  return list.rows.map((row) => row.id);
}

function add(list: ListState<Row>, id: string, given = rule()): ListState<Row> {
  return changed(list, { id, row: { id } }, given);
}

describe("membership", () => {
  test("a row that no longer matches leaves, one that matches now enters", () => {
    const paused = rule({ matches: (row) => row.state === "paused" });
    const list = page(["3", "1"]);
    const entered = changed(list, { id: "2", row: { id: "2", state: "paused" } }, paused);
    expect(ids(entered)).toEqual(["3", "2", "1"]);
    expect(ids(changed(entered, { id: "2", row: { id: "2", state: null } }, paused))).toEqual(["3", "1"]);
  });

  test("a row that neither is there nor matches changes nothing", () => {
    const list = page(["3"]);
    expect(changed(list, { id: "4", row: { id: "4" } }, rule({ matches: () => false }))).toBe(list);
  });

  test("what only the server can judge makes the page ask", () => {
    const list = changed(page(["3"]), { id: "4", row: { id: "4" } }, rule({ matches: () => null }));
    expect([ids(list), list.stale]).toEqual([["3"], true]);
  });

  test("what is gone leaves, and the server is asked what comes up from the next page", () => {
    const list = changed(page(["3", "2", "1"], true), { id: "2", row: null }, rule());
    expect([ids(list), list.stale]).toEqual([["3", "1"], true]);
  });
});

describe("order", () => {
  test("a burst in any order stands in order, each once", () => {
    let list = page(["3", "2", "1"]);
    for (const id of ["6", "4", "5", "4"]) list = add(list, id);
    expect(ids(list)).toEqual(["6", "5", "4", "3", "2", "1"]);
  });

  test("a row whose place changes moves there", () => {
    const byNext = rule({
      order: (left, right) => thenBy(byText(left.next ?? null, right.next ?? null), byNumber(left.id, right.id)),
    });
    const list = listOf<Row>({
      nodes: [
        { id: "1", next: "a" },
        { id: "2", next: "c" },
        { id: "3", next: null },
      ],
      pageInfo: { hasNextPage: false, endCursor: null },
    });
    expect(ids(changed(list, { id: "1", row: { id: "1", next: "d" } }, byNext))).toEqual(["2", "1", "3"]);
    expect(ids(changed(list, { id: "2", row: { id: "2", next: null } }, byNext))).toEqual(["1", "2", "3"]);
  });

  test("an order that only the server knows keeps rows in place and asks", () => {
    const unknown = rule({ order: () => null });
    const list = changed(page(["9", "4"]), { id: "4", row: { id: "4", state: "x" } }, unknown);
    expect([list.rows, list.stale]).toEqual([[{ id: "9" }, { id: "4", state: "x" }], true]);
    expect(add(page(["9"]), "10", unknown).stale).toBe(true);
  });
});

describe("ends of the page", () => {
  test("on the first page newcomers join, and the cursor behind the last row holds: nothing becomes unreachable", () => {
    const list = add(add(page(["3", "2", "1"], true), "4"), "5");
    expect([ids(list), list.end, list.stale]).toEqual([["5", "4", "3", "2", "1"], "end", false]);
  });

  test("beyond twice its size a page drops its tail, and the cursor that would skip it, and asks", () => {
    let list = page(["3", "2", "1"], true);
    for (const id of ["4", "5", "6"]) list = add(list, id);
    expect([list.rows.length, list.end, list.stale]).toEqual([SIZE * 2, "end", false]);
    list = add(list, "7");
    expect([ids(list), list.end, list.more, list.stale]).toEqual([["7", "6", "5", "4", "3", "2"], null, true, true]);
  });

  test("a flood draws no more rows than that, however late the answer is", () => {
    let list = page([], false);
    for (let id = 1; id <= SIZE * 30; id += 1) {
      list = add(list, String(id));
      expect(list.rows.length).toBeLessThanOrEqual(SIZE * 2);
    }
    expect([ids(list)[0], list.end, list.more]).toEqual([String(SIZE * 30), null, true]);
  });

  test("what belongs to an earlier or a later page does not join this one", () => {
    const middle = rule({ first: false });
    const list = page(["7", "5", "3"], true);
    expect(ids(add(list, "9", middle))).toEqual(["7", "5", "3"]);
    expect(ids(add(list, "2", middle))).toEqual(["7", "5", "3"]);
    expect(ids(add(list, "6", middle))).toEqual(["7", "6", "5", "3"]);
    expect(ids(add(page(["7", "5"], false), "2", middle))).toEqual(["7", "5", "2"]);
  });

  test("a counted list counts along and asks", () => {
    const list = add(page(["3"], false, 1), "4");
    expect([list.total, list.stale]).toEqual([2, true]);
    expect(changed(list, { id: "3", row: null }, rule()).total).toBe(1);
    expect(changed(page(["3"], true, 9), { id: "1", row: null }, rule()).stale).toBe(true);
  });
});

test("an event's row keeps what only the answer knew", () => {
  const list = listOf<Row>({
    nodes: [{ id: "1", next: "from the answer" }],
    pageInfo: { hasNextPage: false, endCursor: null },
  });
  expect(changed(list, { id: "1", row: { id: "1", state: "new" } }, rule()).rows).toEqual([
    { id: "1", next: "from the answer", state: "new" },
  ]);
});

describe("the choice", () => {
  test("select-all concerns this page: other pages keep their choice", () => {
    const chosen = togglePage(new Set(["1", "2"]), ["3", "4"]);
    expect([...chosen]).toEqual(["1", "2", "3", "4"]);
    expect([...togglePage(chosen, ["3", "4"])]).toEqual(["1", "2"]);
    expect([...togglePage(new Set(["3"]), ["3", "4"])]).toEqual(["3", "4"]);
  });

  test("rows that leave the list are chosen no more; those of other pages are", () => {
    expect([...stillChosen(new Set(["1", "3", "4"]), ["3", "4"], ["4", "5"])]).toEqual(["1", "4"]);
  });
});

test("an answer with all rows counts them itself: what the server counted a moment later may be another number", () => {
  const answer = {
    nodes: [{ id: "1" }, { id: "2" }],
    pageInfo: { hasNextPage: false, endCursor: null },
    totalCount: 3,
  };
  expect(listOf<Row>(answer, true).total).toBe(2);
  expect(listOf<Row>(answer).total).toBe(3);
  expect(listOf<Row>({ ...answer, pageInfo: { hasNextPage: true, endCursor: "a" } }, true).total).toBe(3);
});
