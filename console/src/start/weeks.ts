const DAYS = 28;
const WEEK = 7;

/** The four weeks from Monday of this one. */
export function weeksFrom(now: Date): Date[][] {
  const monday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - ((now.getDay() + 6) % WEEK));
  const day = (offset: number) => new Date(monday.getFullYear(), monday.getMonth(), monday.getDate() + offset);
  return Array.from({ length: DAYS / WEEK }, (_, week) =>
    Array.from({ length: WEEK }, (_, weekday) => day(week * WEEK + weekday)),
  );
}
