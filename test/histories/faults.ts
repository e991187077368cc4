import type { DatabaseProxy, Direction } from '../support/proxy.ts';
import { isRunning } from '../support/workers.ts';

/** Ends a fault. */
export type End = () => Promise<void>;

export function signalTo(pid: number, signal: NodeJS.Signals): void {
  if (isRunning(pid)) process.kill(pid, signal);
}

export function stop(pids: readonly number[]): End {
  for (const pid of pids) signalTo(pid, 'SIGSTOP');
  return async () => {
    for (const pid of pids) signalTo(pid, 'SIGCONT');
  };
}

/** What is sent in one direction is lost. */
export function lose(proxies: readonly DatabaseProxy[], lost: Direction): End {
  for (const proxy of proxies) proxy.weather = { kind: 'one-way loss', lost };
  return async () => {
    for (const proxy of proxies) {
      proxy.weather = { kind: 'clear' };
      proxy.reset();
    }
  };
}

/** What is sent on the open connections is delivered when the fault ends, also if its sender has given up. */
export function delay(proxies: readonly DatabaseProxy[]): End {
  const deliveries = proxies.map((proxy) => proxy.hold());
  return async () => {
    for (const deliver of deliveries) deliver();
  };
}
