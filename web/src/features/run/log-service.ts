import { useEffect, useState } from "preact/hooks";
import { request } from "../../api/client";
import { graphql } from "../../api/tada";
import { link } from "../../live";
import { FrameQueue } from "../../live/frame";
import { appendLines, EMPTY_LOG, type Line, type LogBuffer, logText } from "../../model/log-buffer";
import { saveFile } from "../../services/save-file";

const LogDocument = graphql(`
  subscription ExecutionLog($executionId: ID!, $afterLine: Int!) {
    executionLog(executionId: $executionId, afterLine: $afterLine) {
      lines { line at level message fields }
      cut
      hasEnded
    }
  }
`);

const LogPageDocument = graphql(`
  query LogPageOfExecution($id: ID!, $after: Int!) {
    execution(id: $id) {
      logLines(first: 1000, after: $after) {
        lines { line at level message fields }
        lastLine
      }
    }
  }
`);

interface LiveLog {
  readonly buffer: LogBuffer;
  readonly error: Error | null;
}

/** The log of an execution from its first line, live until the end mark; resumes by line after a reconnection. */
export function useLog(executionId: string): LiveLog {
  const [log, setLog] = useState<LiveLog>({ buffer: EMPTY_LOG, error: null });
  useEffect(() => {
    let buffer = EMPTY_LOG;
    const show = (): void => setLog({ buffer, error: null });
    const frames = new FrameQueue(show);
    const stop = link.subscribe({
      document: LogDocument,
      variables: () => ({ executionId, afterLine: buffer.last }),
      next: ({ executionLog }) => {
        buffer = appendLines(buffer, executionLog.lines, executionLog.cut, executionLog.hasEnded);
        frames.add(show);
      },
      refused: (error) => setLog({ buffer, error }),
      isOver: () => buffer.ended,
    });
    setLog({ buffer, error: null });
    return stop;
  }, [executionId]);
  return log;
}

/** Reads the whole log and hands it to the browser as a file. */
export async function downloadLog(executionId: string): Promise<void> {
  const lines: Line[] = [];
  for (let after = 0; ; ) {
    const page = (await request(LogPageDocument, { id: executionId, after })).execution?.logLines;
    if (page === undefined || page.lines.length === 0) break;
    lines.push(...page.lines);
    after = page.lastLine;
  }
  saveFile(`execution-${executionId}.log`, "text/plain", logText(lines));
}
