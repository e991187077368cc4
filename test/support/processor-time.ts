/** How many milliseconds of the processor something takes. A busy machine makes that hardly longer, and the time on the clock much. */
export function processorMs(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
