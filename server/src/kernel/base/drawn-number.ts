import { randomInt } from 'node:crypto';

/** Nine random digits. A sequence would reveal to each tenant how many objects all tenants have together. */
const NUMBER_MIN = 100_000_000;
const NUMBER_END = 1_000_000_000;

/** Returns a number that the installation does not use at this moment. A unique index decides when it is stored. */
export async function drawNumber(isTaken: (number: number) => Promise<boolean>): Promise<number> {
  for (;;) {
    const number = randomInt(NUMBER_MIN, NUMBER_END);
    if (!(await isTaken(number))) return number;
  }
}
