import { useEffect, useState } from "preact/hooks";

const PHONE = "(max-width: 700px)";

/** Whether the window is as narrow as a phone's, or enlarged as far; follows when the phone is turned. */
export function usePhone(): boolean {
  const [phone, setPhone] = useState(() => matchMedia(PHONE).matches);
  useEffect(() => {
    const query = matchMedia(PHONE);
    const follow = (): void => setPhone(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return phone;
}
