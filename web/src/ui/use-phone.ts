import { useMedia } from "./use-media";

/** Whether the window is as narrow as a phone's, or enlarged as far. */
export function usePhone(): boolean {
  return useMedia("(max-width: 700px)");
}
