import type { Started } from './process.ts';

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** The log of a process, which writes JSON. */
export function logLines(node: Pick<Started, 'stdout'>): LogLine[] {
  return node
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as LogLine);
}

const PROBE = 'ready';

/** The messages of lines that say that something is wrong, except that a node which stops refuses the probes of its balancer. */
export function complaints(node: Pick<Started, 'stdout'>): string[] {
  return logLines(node)
    .filter(({ level }) => level === 'warn' || level === 'error' || level === 'fatal')
    .filter(({ endpoint }) => endpoint !== PROBE)
    .map(({ level, msg, endpoint = '' }) => `${level}: ${msg} ${endpoint}`);
}
