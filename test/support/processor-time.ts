import { readFileSync } from 'node:fs';

/** How many milliseconds of the processor something takes. A busy machine makes that hardly longer, and the time on the clock much. */
export function processorMs(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** How many milliseconds of the processor another process has used so far, as Linux counts them, in hundredths of a second. */
export function processorMsOf(pid: number): number {
  const [, afterName = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = afterName.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10;
}

/** How many seconds of the processor this process has used so far, with those that it started and that have ended. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000 + endedChildrenMs() / 1000;
}

/** Only Linux tells. */
function endedChildrenMs(): number {
  if (process.platform !== 'linux') return 0;
  const [, afterName = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ');
  const [user, system] = afterName.split(' ').slice(13, 15);
  return (Number(user) + Number(system)) * 10;
}
