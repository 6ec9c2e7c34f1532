import type { IconName } from "../lib/status";

/** 16 × 16 line drawings; `currentColor`, so that they follow the text. */
const SHAPES: Readonly<Record<IconName, string>> = {
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  clock: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 5v3l2 1.5",
  spark: "M8 2.5v2M8 11.5v2M2.5 8h2M11.5 8h2M4.1 4.1l1.4 1.4M10.5 10.5l1.4 1.4M4.1 11.9l1.4-1.4M10.5 5.5l1.4-1.4",
  stop: "M4 4h8v8H4z",
  skip: "M4 4l5 4-5 4zM12 4v8",
  retry: "M12.5 6A5 5 0 1 0 13 9.5M13 3v3.2H9.8",
  lost: "M2.5 5.5a8 8 0 0 1 11 0M5 8.5a4.5 4.5 0 0 1 6 0M8 12h.01M3 13L13 3",
  pause: "M5.5 4v8M10.5 4v8",
  dots: "M4 8h.01M8 8h.01M12 8h.01",
  snooze: "M5 5h5l-5 6h5M11 3h2.5L11 6h2.5",
  back: "M7 4L3 8l4 4M3 8h10",
  play: "M5 3.5l7 4.5-7 4.5z",
  alert: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.3h.01",
  search: "M7 2.5a4.5 4.5 0 1 0 .01 0M10.3 10.3L13.5 13.5",
  sun: "M8 5.5a2.5 2.5 0 1 0 .01 0M8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M3.6 12.4l1-1M11.4 4.6l1-1",
  moon: "M13 9.8A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.8z",
  auto: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 2.5v11",
  help: "M5.8 6a2.2 2.2 0 1 1 3.4 1.9C8.3 8.5 8 9 8 9.7M8 12.3h.01",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9",
  plus: "M8 3v10M3 8h10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  home: "M2.5 7.5L8 3l5.5 4.5M4 6.5v6.5h8V6.5",
  tasks: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v2.5M10.5 2v2.5",
  jobs: "M5.5 4L2.5 8l3 4M10.5 4l3 4-3 4",
  runs: "M2.5 4h11M2.5 8h8M2.5 12h5",
  log: "M3.5 2.5h9v11h-9zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  groups: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  nodes: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  explorer: "M8 1.8l5.4 3.1v6.2L8 14.2l-5.4-3.1V4.9zM8 1.8v12.4M2.6 4.9L13.4 11.1M13.4 4.9L2.6 11.1",
  settings: "M3 4.5h10M3 11.5h10M6 3v3M10.5 10v3",
  close: "M4 4l8 8M12 4l-8 8",
  resume: "M4 4v8M7.5 4l5.5 4-5.5 4z",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13h10",
  link: "M6.5 9.5l3-3M7 5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 9M5 7L3.5 8.5a2.8 2.8 0 0 0 4 4L9 11",
  inbox: "M2.5 9l2-6h7l2 6v4h-11zM2.5 9h3.2l.8 1.6h3l.8-1.6h3.2",
  flows: "M2.5 6h4v4h-4zM10 2.5h3.5v3.5H10zM10 10h3.5v3.5H10zM6.5 8H8v-3.8h2M8 8v3.8h2",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  person: "M8 2.5a2.5 2.5 0 1 0 .01 0M3 13.5a5 5 0 0 1 10 0",
  people: "M6 3.5a2.2 2.2 0 1 0 .01 0M2 13a4 4 0 0 1 8 0M11 4.5a1.8 1.8 0 1 0 .01 0M11.5 9.3A3.4 3.4 0 0 1 14 12.6",
  leave: "M9.5 3h-6v10h6M7 8h6.5M11 5.5L13.5 8 11 10.5",
  key: "M5.5 7.5a3 3 0 1 0 .01 0M7.7 8.3L13 3M11 5l2 2",
  audit: "M4 2.5h8v11H4zM6 6l1.2 1.2L10 4.8M6 10.5h4",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M2.5 9.8h11M6.5 6.5V13",
};

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
