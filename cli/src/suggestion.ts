/** The known word that a mistyped one is probably meant to be. */
export function suggestion(typed: string, known: readonly string[]): string | null {
  const [nearest] = known
    .map((word) => ({ word, distance: distanceOf(typed.toLowerCase(), word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)) && distance < word.length)
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.word ?? null;
}

/** How many letters are missing, surplus or others; two that are swapped count as one. */
function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > DISTANCE_MAX) return Number.POSITIVE_INFINITY;
  let [twoUp, up]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const edited = Math.min((up[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (up[j - 1] ?? 0) + cost);
      row.push(isSwapped ? Math.min(edited, (twoUp[j - 2] ?? 0) + 1) : edited);
    }
    [twoUp, up] = [up, row];
  }
  return up[b.length] ?? 0;
}
const DISTANCE_MAX = 3;
