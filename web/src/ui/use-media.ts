import { useEffect, useState } from "preact/hooks";

/** Whether the window is as a media query asks; follows when it is turned, enlarged or drawn wider. */
export function useMedia(asked: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(asked).matches);
  useEffect(() => {
    const query = matchMedia(asked);
    const follow = (): void => setMatches(query.matches);
    follow();
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, [asked]);
  return matches;
}
