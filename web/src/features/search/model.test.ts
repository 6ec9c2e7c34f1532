import { describe, expect, test } from "vitest";
import {
  addressOf,
  filtersOf,
  isKnown,
  offersFor,
  readDraft,
  readSearch,
  type Search,
  searchOf,
  type Term,
  typingOf,
  type Vocabulary,
  withOffer,
  written,
  writtenFree,
  writtenSearch,
} from "./model";

const OUTCOME: Term = {
  prefix: "outcome:",
  param: "outcome",
  label: "Outcome",
  options: [
    ["failures", "failures"],
    ["FAILED", "failed"],
    ["TIMED_OUT", "timed out"],
  ],
};
const SINCE: Term = { prefix: "since:", param: "since", label: "Since", options: [["24", "last day"]] };
const LIST: Vocabulary = {
  label: "Text of the error",
  param: "q",
  terms: [
    { prefix: "job:", param: "job", label: "Job", names: "job" },
    OUTCOME,
    SINCE,
    { prefix: "label:", param: "label", label: "Label", names: "label", form: "label" },
    { prefix: "run:", param: "run", label: "Run", form: "number" },
    { prefix: ">", param: "over", label: "Longer than", form: "duration" },
    { prefix: "state:", param: "state", label: "State", tab: true },
  ],
};

function read(text: string): string {
  return decodeURIComponent(addressOf(LIST, readSearch(LIST, text)).toString().replaceAll("+", " "));
}
function write(address: string): string {
  return writtenSearch(LIST, searchOf(LIST, new URLSearchParams(address)));
}

describe("what is typed becomes an address", () => {
  test.each([
    ["", ""],
    [
      'job:import outcome:failed >5s label:customer=42 "time out"',
      "job=import&outcome=FAILED&over=5s&label=customer:42&q=time out",
    ],
    ["time job:a out", "job=a&q=time out"],
    ['job:"a b" "say \\"no\\""', 'job=a b&q=say "no"'],
    ['"job:a"', "q=job:a"],
    ["outcome:timed-out", "outcome=TIMED_OUT"],
    ["OUTCOME:Timed_Out", "outcome=TIMED_OUT"],
    ["outcome:great", "outcome=great"],
    ["since:last-day", "since=24"],
    ["label:customer:42", "label=customer:42"],
    ["label:url=a:b=c", "label=url:a:b=c"],
    ["label:customer=", "label=customer"],
    ["job: x", "q=x"],
    ["<div> >x", "q=<div> >x"],
    ["job:a job:b", "job=b"],
    ["http://x outcom:failed C:\\new", "q=http://x outcom:failed C:\\new"],
    ['"not closed', "q=not closed"],
  ])("%s", (text, address) => expect(read(text)).toBe(address));
});

describe("an address becomes what one would type", () => {
  test.each([
    [
      "job=import&outcome=FAILED&over=5s&label=customer:42&q=time+out",
      "job:import outcome:failed label:customer=42 >5s time out",
    ],
    ["since=24&outcome=TIMED_OUT", "outcome:timed-out since:last-day"],
    ["q=job:a", '"job:a"'],
    ["q=%20a", '" a"'],
    ["sort=oldest&after=7", ""],
  ])("%s", (address, text) => expect(write(address)).toBe(text));
});

test("every search is read back from what is written of it", () => {
  const texts = [
    "a",
    "a b",
    " a",
    "a  b ",
    '"',
    "\\",
    '\\"',
    '"a" b',
    "a\\ b",
    "job:",
    "job:x",
    ">5s",
    "ümlaut",
    "\n",
    "a=b",
    "a:b",
  ];
  for (const free of ["", ...texts])
    for (const value of texts) {
      const search: Search = {
        free,
        terms: new Map([
          ["job", value],
          ["outcome", "TIMED_OUT"],
          ["label", "k:v w=x:y"],
        ]),
      };
      expect(readSearch(LIST, writtenSearch(LIST, search))).toEqual(search);
      expect(searchOf(LIST, addressOf(LIST, search))).toEqual(search);
    }
});

test("values that make no sense are known as such", () => {
  const known = (prefix: string, value: string): boolean =>
    LIST.terms.some((term) => term.prefix === prefix && isKnown(term, value));
  expect([known("outcome:", "FAILED"), known("run:", "7"), known(">", "1.5h"), known("job:", "any")]).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([known("outcome:", "great"), known("run:", "x"), known(">", "long")]).toEqual([false, false, false]);
});

test("what the tabs show is not cleared with the filters", () =>
  expect(filtersOf(LIST)).toEqual(["q", "job", "outcome", "since", "label", "run", "over"]));

describe("while one types", () => {
  const draft = (text: string, whole = false) => {
    const { done, rest, free } = readDraft(LIST, text, whole);
    return [Object.fromEntries(done), rest, free];
  };
  test("a term is complete with what stands behind it", () => {
    expect(draft("job:imp")).toEqual([{}, "job:imp", ""]);
    expect(draft("job:imp ")).toEqual([{ job: "imp" }, "", ""]);
    expect(draft("a job:imp b")).toEqual([{ job: "imp" }, "a b", "a b"]);
    expect(draft('job:"a b')).toEqual([{}, 'job:"a b', ""]);
    expect(draft("job:imp", true)).toEqual([{ job: "imp" }, "", ""]);
    expect(draft("job:a job:b ", true)).toEqual([{ job: "b" }, "", ""]);
  });
  test("what may become a term is not looked for yet", () => {
    expect(draft("time outc")).toEqual([{}, "time outc", "time"]);
    expect(draft("time outc", true)).toEqual([{}, "time outc", "time outc"]);
    expect(draft("time outx")).toEqual([{}, "time outx", "time outx"]);
    expect(draft("job:", true)).toEqual([{}, "job:", ""]);
  });
});

describe("what is offered", () => {
  const offered = (text: string, names: readonly string[] = []): readonly string[] =>
    offersFor(LIST, typingOf(LIST, text), names).map((offer) => offer.text);
  test("prefixes first", () => {
    expect(offered("")).toEqual(["job:", "outcome:", "since:", "label:", "run:", ">", "state:"]);
    expect(offered("x o")).toEqual(["outcome:"]);
    expect(offered("xyz")).toEqual([]);
    expect(offersFor(LIST, typingOf(LIST, ">"), [])).toEqual([]);
  });
  test("then values, of which the server knows the names", () => {
    expect(offered("outcome:out")).toEqual(["outcome:timed-out"]);
    expect(offered("job:a", ["a b", "ac"])).toEqual(['job:"a b"', "job:ac"]);
    expect(offered("label:c", ["customer"])).toEqual(["label:customer="]);
    expect(offered("label:customer=4", ["customer:42"])).toEqual(["label:customer=42"]);
    expect(typingOf(LIST, "label:customer=4").typed).toBe("customer:4");
  });
  test("one takes the place of the word that is typed", () => {
    const [offer] = offersFor(LIST, typingOf(LIST, "time outcome:fai"), []);
    expect(offer && withOffer("time outcome:fai", offer)).toBe("time outcome:failures");
  });
});

test("single terms and words are written for themselves", () => {
  expect([
    written(OUTCOME, "TIMED_OUT"),
    written(OUTCOME, "a b"),
    writtenFree(LIST, "a b"),
    writtenFree(LIST, ">5s"),
  ]).toEqual(["outcome:timed-out", 'outcome:"a b"', "a b", '">5s"']);
});
