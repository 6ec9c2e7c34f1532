import type { StepRow } from "../api/step";
import { type Shown, shownOf } from "../model/shown";
import { Facts } from "./task-facts";

/** What the job says on its page for people: its text, and what the answer is about. */
export function AnswerPage({ page }: { page: NonNullable<StepRow["answerPage"]> }) {
  const paragraphs = (page.text ?? "").split("\n\n").filter((one) => one.trim() !== "");
  return (
    <div class="answer-page">
      {paragraphs.map((one, place) => (
        <p key={place}>{one}</p>
      ))}
      <ShownValue shown={shownOf(page.shows)} />
    </div>
  );
}

function ShownValue({ shown }: { shown: Shown }) {
  switch (shown.kind) {
    case "nothing":
      return null;
    case "members":
      return <Facts entries={shown.members.map(([name, one]) => [name, <ShownValue shown={one} />])} />;
    case "table":
      return (
        <div class="table-wrap">
          <table class="answer-table">
            <thead>
              <tr>
                {shown.names.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.rows.map((row, place) => (
                <tr key={place}>
                  {row.map((cell, column) => (
                    <td key={column}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "list":
      return (
        <ul class="answer-list">
          {shown.items.map((item, place) => (
            <li key={place}>{item}</li>
          ))}
        </ul>
      );
    case "json":
      return <pre>{shown.text}</pre>;
    case "text":
      return <span class="answer-text">{shown.text}</span>;
  }
}
