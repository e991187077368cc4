/** Works on all items, on a few at a time. It stops taking more after `isStopped` says so or one fails, and ends when nothing is under way. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const failures: unknown[] = [];
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      await work(item).catch((error: unknown) => void failures.push(error));
      if (failures.length > 0 || isStopped()) return;
    }
  };
  if (isStopped()) return;
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
