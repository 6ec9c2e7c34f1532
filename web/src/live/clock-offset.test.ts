import { expect, test } from "vitest";
import { improve } from "./clock-offset";

test("the offset is judged from the middle of the round trip", () => {
  expect(improve(null, { asked: 1000, answered: 1200, server: 5100 })).toEqual({
    offset: 4000,
    roundTrip: 200,
    at: 1200,
  });
});

test("a quicker answer is believed, a slower one is not", () => {
  const known = improve(null, { asked: 1000, answered: 1200, server: 5100 });
  const better = improve(known, { asked: 2000, answered: 2050, server: 6000 });
  expect(better.roundTrip).toBe(50);
  expect(improve(better, { asked: 3000, answered: 3500, server: 9000 })).toBe(better);
});

test("an old measurement gives way to a slower new one", () => {
  const known = improve(null, { asked: 0, answered: 10, server: 5 });
  expect(improve(known, { asked: 900_000, answered: 900_400, server: 901_200 }).offset).toBe(1000);
});
