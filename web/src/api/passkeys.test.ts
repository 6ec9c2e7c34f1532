import { expect, test } from "vitest";
import { toBytes, toText } from "./passkeys";

test("any bytes survive the way to the server and back", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
  const text = toText(bytes.buffer);
  expect(text).toMatch(/^[\w-]+$/);
  expect(toBytes(text)).toEqual(bytes);
  expect(toText(new Uint8Array([251, 255]).buffer)).toBe("-_8");
});
