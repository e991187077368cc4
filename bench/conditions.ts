import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';

/** When, where and of what something was measured. */
export interface Conditions {
  date: string;
  commit: string;
  machine: { cores: number; processor: string; memoryMiB: number; node: string };
}

export function conditions(): Conditions {
  const machine = {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryMiB: Math.round(totalmem() / 1024 / 1024),
    node: process.version,
  };
  return { date: new Date().toISOString(), commit: commit(), machine };
}

export function shownConditions({ date, commit: of, machine }: Conditions): string {
  const { cores, processor, memoryMiB, node } = machine;
  const when = date.slice(0, 16).replace('T', ' ');
  const where = `${cores} × ${processor}, ${Math.round(memoryMiB / 1024)} GiB; Node ${node}`;
  return `${when} UTC, commit ${of}. ${where}. Client, service and database share the ${cores} cores.`;
}

/** What files of it are called. */
export function stampOf({ date }: Conditions): string {
  return date.slice(0, 16).replace(':', '');
}

/** With a mark if what was measured is not quite that. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' and changes'}`;
}
