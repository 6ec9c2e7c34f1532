import { createContext } from "preact";

/** Whether what is drawn has one line: names do not break there. */
export const OneLine = createContext(false);
