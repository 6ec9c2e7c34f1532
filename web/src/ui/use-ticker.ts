import { useEffect, useState } from "preact/hooks";

/** The page's own time in milliseconds, renewed every second while `active`. */
export function useTicker(active: boolean): number {
  const [time, setTime] = useState(Date.now());
  useEffect(() => {
    if (!active) return undefined;
    setTime(Date.now());
    const timer = window.setInterval(() => setTime(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, [active]);
  return active ? time : Date.now();
}
