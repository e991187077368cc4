import { randomInt } from 'node:crypto';

/** Nine digits at random: a count would tell each tenant how many of a thing all of them have. */
const NUMBER_MIN = 100_000_000;
const NUMBER_END = 1_000_000_000;

/** A number that is unique in the installation, as far as can be told now; a unique index decides when it is stored. */
export async function drawNumber(isTaken: (number: number) => Promise<boolean>): Promise<number> {
  for (;;) {
    const number = randomInt(NUMBER_MIN, NUMBER_END);
    if (!(await isTaken(number))) return number;
  }
}
